import { importPeer } from "../../internal/import-peer.ts";
import type { Waiting } from "./ioredis.ts";
import { type Argument, type Emitter, Listening, type RedisPort, within } from "./port.ts";
import type { Place } from "./url.ts";

interface Connectable extends Emitter {
  readonly isOpen: boolean;
  readonly isReady?: boolean;
  connect(): Promise<unknown>;
  close(): Promise<unknown> | unknown;
  destroy(): unknown;
}

/** The part of a client of the package `redis` that is used here. */
export interface NodeRedisClient extends Connectable {
  sendCommand(args: Argument[], options?: SendOptions): Promise<unknown>;
}

/** The part of a cluster client of the package `redis` that is used here. */
export interface NodeRedisCluster extends Connectable {
  readonly masters: unknown;
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: Argument[],
    options?: SendOptions,
  ): Promise<unknown>;
}

interface SendOptions {
  readonly typeMapping?: Readonly<Record<number, BufferConstructor>>;
}

/** Version 4 has no `destroy`, and would hand bodies on as text; a sentinel's `sendCommand` takes other arguments. */
export const isNodeRedis = (client: object): client is NodeRedisClient | NodeRedisCluster =>
  "sendCommand" in client && "isOpen" in client && "destroy" in client && !("getSentinelNode" in client);

const isCluster = (client: NodeRedisClient | NodeRedisCluster): client is NodeRedisCluster => "masters" in client;

/** `$`, the mark of a text in Redis' protocol, stands for Buffer. */
const AS_BYTES: SendOptions = { typeMapping: { 36: Buffer } };

export class NodeRedisPort implements RedisPort {
  readonly isCluster: boolean;
  readonly #client: NodeRedisClient | NodeRedisCluster;
  readonly #listening: Listening;
  readonly #isOwn: boolean;
  readonly #waiting: Waiting;
  #wasReady = false;

  constructor(client: NodeRedisClient | NodeRedisCluster, isOwn: boolean, waiting: Waiting) {
    this.#client = client;
    this.#isOwn = isOwn;
    this.#waiting = waiting;
    this.isCluster = isCluster(client);
    this.#listening = new Listening(client);
  }

  async ready(): Promise<void> {
    const client = this.#client;
    const isReady = (): boolean => client.isReady ?? client.isOpen;
    if (!isReady()) {
      // Whoever closed it after it was in use meant to.
      if (!client.isOpen && this.#wasReady) throw new Error("Connection is closed.");
      const connect = client.isOpen ? undefined : () => client.connect();
      await this.#listening.untilReady(isReady, connect, this.#waiting.connectTimeoutMs);
    }
    this.#wasReady = true;
  }

  send(key: string | undefined, command: readonly [name: string, ...args: Argument[]]): Promise<unknown> {
    const client = this.#client;
    return isCluster(client)
      ? client.sendCommand(key, false, [...command], AS_BYTES)
      : client.sendCommand([...command], AS_BYTES);
  }

  async close(): Promise<void> {
    if (!this.#isOwn) return this.#listening.stop();
    const { isReady, isOpen } = this.#client;
    if (!isOpen) return;
    const closing = isReady === false ? undefined : Promise.resolve(this.#client.close());
    try {
      if (closing === undefined) this.#client.destroy();
      else await within(this.#waiting.connectTimeoutMs, closing);
    } catch {
      this.#client.destroy();
    }
  }
}

interface NodeRedisModule {
  createClient(options: object): NodeRedisClient;
  createCluster(options: object): NodeRedisCluster;
}

const load = (): Promise<NodeRedisModule> => {
  // A variable, so that a type check does not need a package that not every user has.
  const name = "redis";
  return importPeer(name, ">=5 <7", () => import(name) as Promise<NodeRedisModule>);
};

/** Waiting for a connection is done here, with a limit, and not in the client's queue, which has none. */
const options = ({ username, password, tls }: Place, { connectTimeoutMs }: Waiting): object => ({
  ...(username !== undefined && { username }),
  ...(password !== undefined && { password }),
  disableOfflineQueue: true,
  socket: {
    connectTimeout: connectTimeoutMs,
    reconnectStrategy: (attempt: number) => Math.min((attempt + 1) * 50, 500),
    ...(tls && { tls: true }),
  },
});

export async function openNodeRedis(place: Place, waiting: Waiting): Promise<RedisPort> {
  const { createClient } = await load();
  const { socket, ...rest } = options(place, waiting) as { readonly socket: object };
  const { host, port, database } = place;
  return new NodeRedisPort(createClient({ ...rest, database, socket: { ...socket, host, port } }), true, waiting);
}

export async function openNodeRedisCluster(place: Place, waiting: Waiting): Promise<RedisPort> {
  const { createCluster } = await load();
  const { host, port } = place;
  const client = createCluster({ rootNodes: [{ socket: { host, port } }], defaults: options(place, waiting) });
  return new NodeRedisPort(client, true, waiting);
}
