import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";
import { type Emitter, Listening, mayPass } from "./listening.ts";
import {
  type Command,
  isAlive,
  type Origin,
  type RedisPort,
  type Renew,
  type Send,
  type Waiting,
  within,
} from "./port.ts";
import type { Address, Place } from "./url.ts";

interface IoredisConnectable extends Emitter {
  readonly isCluster?: boolean;
  readonly status: string;
  connect(): Promise<unknown>;
  callBuffer(command: string, args: (string | Buffer | number)[]): Promise<unknown>;
  quit(): Promise<unknown>;
  disconnect(): void;
}

/** The part of an ioredis `Redis` that is used here. */
export interface IoredisRedis extends IoredisConnectable {
  readonly options: { readonly host?: string | undefined; readonly port?: number | undefined };
  readonly stream?: { unref(): unknown; destroy(): unknown };
  duplicate(override?: object): IoredisRedis;
}

/** The part of an ioredis `Cluster` that is used here. */
export interface IoredisCluster extends IoredisConnectable {
  readonly options: { readonly redisOptions?: object | undefined };
  nodes(role?: "all" | "master"): IoredisRedis[];
  duplicate(startupNodes?: Address[], override?: object): IoredisCluster;
}

/** A `Redis` or a `Cluster` of ioredis. */
export type IoredisClient = IoredisRedis | IoredisCluster;

const isCluster = (client: IoredisClient): client is IoredisCluster => client.isCluster === true;

export class IoredisPort implements RedisPort {
  readonly isCluster: boolean;
  readonly #client: IoredisClient;
  readonly #listening: Listening;
  readonly #origin: Origin;
  readonly #waiting: Waiting;

  constructor(client: IoredisClient, origin: Origin, waiting: Waiting, listening: Listening = new Listening(client)) {
    this.#client = client;
    this.#origin = origin;
    this.#waiting = waiting;
    this.isCluster = isCluster(client);
    this.#listening = listening;
    const { own } = origin;
    if (own === undefined) return;
    client.on("ready", () => {
      own.wasReady = true;
    });
    // Lets the process exit when idle, even without `close()`.
    if (isCluster(client)) client.on("+node", (node) => unrefSockets(node as IoredisRedis));
    else unrefSockets(client);
  }

  get hasEnded(): boolean {
    return this.#origin.own?.wasReady === true && this.#client.status !== "ready";
  }

  get isReady(): boolean {
    return this.#client.status === "ready";
  }

  async ready(): Promise<void> {
    const client = this.#client;
    if (client.status === "ready") return;
    // Its owner ended it on purpose.
    if (client.status === "end") throw new Error("Connection is closed.");
    const connect = client.status === "wait" ? () => client.connect().catch(unlessItMayPass) : undefined;
    await this.#listening.untilReady(() => client.status === "ready", connect, this.#waiting.connectTimeoutMs);
  }

  /** The key is among the arguments, and the client finds it there. */
  send(_key: string | undefined, command: Command): Promise<unknown> {
    return sendTo(this.#client)(command);
  }

  async primaries(): Promise<readonly Send[]> {
    const client = this.#client;
    return isCluster(client) ? client.nodes("master").map(sendTo) : [sendTo(client)];
  }

  async successor(): Promise<RedisPort> {
    return this.#origin.renew(isCluster(this.#client) ? await usableNodes(this.#client) : []);
  }

  abandon(): void {
    if (this.#origin.own === undefined) return;
    const client = this.#client;
    const connections = isCluster(client) ? client.nodes() : [client];
    client.disconnect();
    // Otherwise the client would wait for the other side to close.
    for (const { stream } of connections) stream?.destroy();
  }

  async close(): Promise<void> {
    if (this.#origin.own === undefined) {
      this.#listening.stop();
      return;
    }
    // Commands in progress are answered first, if the server is there to answer.
    const { status } = this.#client;
    if (status === "ready") await within(this.#waiting.connectTimeoutMs, this.#client.quit()).catch(ignore);
    this.abandon();
  }
}

const ignore = (): void => undefined;

/** The client may go on trying after its first connection failed; it emits "end" if it does not. */
function unlessItMayPass(error: unknown): void {
  if (!mayPass(error)) throw error;
}

/** Version 5 finds the key of a command, and so its node, only by a lower-case command name. */
const sendTo =
  (client: IoredisConnectable): Send =>
  ([name, ...args]) =>
    client.callBuffer(name.toLowerCase(), args);

function unrefSockets(client: IoredisRedis): void {
  client.on("connect", () => client.stream?.unref());
}

/** The addresses of nodes that answer, or were not needed yet. A silent node may be the reason why a successor is needed. */
async function usableNodes(cluster: IoredisCluster): Promise<readonly Address[]> {
  const nodes = cluster.nodes("all").filter(({ status }) => status === "ready" || status === "wait");
  const usable = await Promise.all(nodes.map((node) => node.status === "wait" || isAlive(sendTo(node))));
  return nodes.flatMap(({ options: { host, port } }, at) =>
    usable[at] && host !== undefined && port !== undefined ? [{ host, port }] : [],
  );
}

interface IoredisModule {
  readonly Redis: new (options: object) => IoredisRedis;
  readonly Cluster: new (nodes: readonly object[], options: object) => IoredisCluster;
}

const RANGE = ">=5.2.6 <7";

const load = async (): Promise<IoredisModule> => {
  const { Redis, Cluster } = await importPeer<Partial<IoredisModule>>("ioredis", RANGE);
  if (Redis !== undefined && Cluster !== undefined) return { Redis, Cluster };
  const what = `the package "ioredis" that is installed is too old to open a URL`;
  throw new StateError("MISSING_DEPENDENCY", `${what}: npm install "ioredis@${RANGE}"`);
};

/** We wait for a connection here, with a limit. The client's own queue has no limit. */
const options = ({ connectTimeoutMs }: Waiting): object => ({
  lazyConnect: true,
  connectTimeout: connectTimeoutMs,
  enableOfflineQueue: false,
  // A command whose connection broke fails at once: the caller checks its outcome and retries.
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
});

const clusterOptions = (waiting: Waiting, more: object = {}): object => {
  const { lazyConnect: _, retryStrategy: __, ...redisOptions } = options(waiting) as Record<string, unknown>;
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    // The check would ask any node, and wait for a dead one. A cluster that is down answers each command with an error.
    enableReadyCheck: false,
    // No timer: a node that no longer has a slot says where it moved.
    slotsRefreshInterval: 0,
    // Enough to follow a slot that moved. Longer waits are left to the retries above, which are bounded.
    maxRedirections: 4,
    clusterRetryStrategy: () => null,
    redisOptions: { ...more, ...redisOptions },
  };
};

const ownPort = (client: IoredisClient, renew: Renew, waiting: Waiting): RedisPort =>
  new IoredisPort(client, { own: { wasReady: false }, renew }, waiting);

/**
 * A port over a client that was handed in. If it stops answering, duplicates of it
 * are used; the client itself is not touched.
 */
export function ioredisPortOf(client: IoredisClient, waiting: Waiting, listening: Listening): RedisPort {
  const duplicate = (nodes: readonly Address[]): IoredisClient =>
    isCluster(client)
      ? client.duplicate([...nodes], clusterOptions(waiting, client.options.redisOptions))
      : client.duplicate(options(waiting));
  const renewing =
    (before: readonly Address[]): Renew =>
    async (usable) => {
      const nodes = usable.length > 0 ? usable : before;
      return ownPort(duplicate(nodes), renewing(nodes), waiting);
    };
  return new IoredisPort(client, { renew: renewing([]) }, waiting, listening);
}

export async function openIoredis(place: Place, waiting: Waiting): Promise<RedisPort> {
  const { Redis } = await load();
  const { host, port, username, password, database: db, tls } = place;
  const client = new Redis({ ...options(waiting), host, port, username, password, db, ...(tls && { tls: {} }) });
  return ownPort(client, () => openIoredis(place, waiting), waiting);
}

export async function openIoredisCluster(
  place: Place,
  waiting: Waiting,
  nodes: readonly Address[] = [],
): Promise<RedisPort> {
  const { Cluster } = await load();
  const { host, port, username, password, tls } = place;
  const known = nodes.length > 0 ? nodes : [{ host, port }];
  const access = { username, password, ...(tls && { tls: {} }) };
  return ownPort(
    new Cluster(known, clusterOptions(waiting, access)),
    (usable) => openIoredisCluster(place, waiting, usable.length > 0 ? usable : nodes),
    waiting,
  );
}
