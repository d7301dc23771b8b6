import { importPeer } from "../../internal/import-peer.ts";
import { type Argument, type Emitter, Listening, type RedisPort, within } from "./port.ts";
import type { Place } from "./url.ts";

/** The part of an ioredis `Redis` or `Cluster` that is used here. */
export interface IoredisClient extends Emitter {
  readonly status: string;
  readonly isCluster?: boolean;
  connect(): Promise<unknown>;
  callBuffer(command: string, args: (string | Buffer | number)[]): Promise<unknown>;
  quit(): Promise<unknown>;
  disconnect(): void;
}

export const isIoredis = (client: object): client is IoredisClient => "callBuffer" in client && "status" in client;

export interface Waiting {
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
}

export class IoredisPort implements RedisPort {
  readonly isCluster: boolean;
  readonly #client: IoredisClient;
  readonly #listening: Listening;
  readonly #isOwn: boolean;
  readonly #waiting: Waiting;

  constructor(client: IoredisClient, isOwn: boolean, waiting: Waiting) {
    this.#client = client;
    this.#isOwn = isOwn;
    this.#waiting = waiting;
    this.isCluster = client.isCluster === true;
    this.#listening = new Listening(client);
  }

  async ready(): Promise<void> {
    const client = this.#client;
    if (client.status === "ready") return;
    // Whoever ended it meant to.
    if (client.status === "end") throw new Error("Connection is closed.");
    const connect = client.status === "wait" ? () => client.connect() : undefined;
    await this.#listening.untilReady(() => client.status === "ready", connect, this.#waiting.connectTimeoutMs);
  }

  /** The key is among the arguments, and the client finds it there. */
  send(_key: string | undefined, [name, ...args]: readonly [name: string, ...args: Argument[]]): Promise<unknown> {
    return this.#client.callBuffer(name, args);
  }

  async close(): Promise<void> {
    if (this.#isOwn) {
      // What is under way is answered first, where a server is there to answer.
      if (this.#client.status === "ready")
        await within(this.#waiting.connectTimeoutMs, this.#client.quit()).catch(ignore);
      this.#client.disconnect();
      return;
    }
    this.#listening.stop();
  }
}

const ignore = (): void => undefined;

interface IoredisModule {
  readonly Redis: new (options: object) => IoredisClient;
  readonly Cluster: new (nodes: readonly object[], options: object) => IoredisClient;
}

const load = (): Promise<IoredisModule> => {
  // A variable, so that a type check does not need a package that not every user has.
  const name = "ioredis";
  return importPeer(name, ">=5 <7", () => import(name) as Promise<IoredisModule>);
};

/** Waiting for a connection is done here, with a limit, and not in the client's queue, which has none. */
const options = ({ connectTimeoutMs }: Waiting): object => ({
  lazyConnect: true,
  connectTimeout: connectTimeoutMs,
  enableOfflineQueue: false,
  // A command whose connection broke fails at once: it is repeated above, where its outcome is looked at.
  maxRetriesPerRequest: 0,
  retryStrategy: reconnectDelay,
});

const reconnectDelay = (attempt: number): number => Math.min(attempt * 50, 500);

export async function openIoredis(place: Place, waiting: Waiting): Promise<RedisPort> {
  const { Redis } = await load();
  const { host, port, username, password, database: db, tls } = place;
  const client = new Redis({ ...options(waiting), host, port, username, password, db, ...(tls && { tls: {} }) });
  return new IoredisPort(client, true, waiting);
}

export async function openIoredisCluster(place: Place, waiting: Waiting): Promise<RedisPort> {
  const { Cluster } = await load();
  const { host, port, username, password, tls } = place;
  const { lazyConnect: _, ...redisOptions } = options(waiting) as Readonly<Record<string, unknown>>;
  const client = new Cluster([{ host, port }], {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnectDelay,
    redisOptions: { ...redisOptions, username, password, ...(tls && { tls: {} }) },
  });
  return new IoredisPort(client, true, waiting);
}
