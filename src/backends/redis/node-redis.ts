import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";
import { type Emitter, Listening, mayPass } from "./listening.ts";
import {
  type Argument,
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

interface Connectable extends Emitter {
  readonly isOpen: boolean;
  readonly isReady?: boolean;
  connect(): Promise<unknown>;
  close(): Promise<unknown> | unknown;
  destroy(): unknown;
}

/** The part of a client of the package `redis` that is used here. */
export interface NodeRedisClient extends Connectable {
  readonly options?: { readonly socket?: object } | undefined;
  sendCommand(args: Argument[], options?: SendOptions): Promise<unknown>;
  duplicate(overrides?: object): NodeRedisClient;
  unref(): void;
}

interface ClusterNode extends Address {
  readonly client?: NodeRedisClient | undefined;
  readonly connectPromise?: Promise<unknown> | undefined;
}

/** The part of a cluster client of the package `redis` that is used here. */
export interface NodeRedisCluster extends Connectable {
  readonly masters: readonly unknown[];
  readonly nodeByAddress: ReadonlyMap<string, unknown>;
  nodeClient(node: never): Promise<unknown> | unknown;
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: Argument[],
    options?: SendOptions,
  ): Promise<unknown>;
  duplicate(overrides?: object): NodeRedisCluster;
}

interface SendOptions {
  readonly typeMapping?: Readonly<Record<number, BufferConstructor>>;
}

const isCluster = (client: NodeRedisClient | NodeRedisCluster): client is NodeRedisCluster => "masters" in client;

const nodesOf = (cluster: NodeRedisCluster): readonly ClusterNode[] =>
  [...cluster.nodeByAddress.values()] as readonly ClusterNode[];

/** `$` is the type of a bulk string in Redis' protocol. It is mapped to Buffer. */
const AS_BYTES: SendOptions = { typeMapping: { 36: Buffer } };

export class NodeRedisPort implements RedisPort {
  readonly isCluster: boolean;
  readonly #client: NodeRedisClient | NodeRedisCluster;
  readonly #listening: Listening;
  readonly #origin: Origin;
  readonly #waiting: Waiting;
  #wasReady = false;

  constructor(
    client: NodeRedisClient | NodeRedisCluster,
    origin: Origin,
    waiting: Waiting,
    listening: Listening = new Listening(client),
  ) {
    this.#client = client;
    this.#origin = origin;
    this.#waiting = waiting;
    this.isCluster = isCluster(client);
    this.#listening = listening;
    // Lets the process exit when idle, even without `close()`.
    if (origin.own !== undefined && !isCluster(client)) client.unref();
  }

  get hasEnded(): boolean {
    if (this.#origin.own?.wasReady !== true) return false;
    const client = this.#client;
    if (!isCluster(client)) return client.isReady !== true;
    // The client asks no other node when it loses one, so it would never learn of the replacement.
    return !client.isOpen || nodesOf(client).some((node) => node.client?.isOpen === false && !node.connectPromise);
  }

  get isReady(): boolean {
    return (this.#client.isReady ?? this.#client.isOpen) && !this.hasEnded;
  }

  async ready(): Promise<void> {
    const client = this.#client;
    const isReady = (): boolean => client.isReady ?? client.isOpen;
    if (!isReady()) {
      // Its owner closed it on purpose, after it was in use.
      if (!client.isOpen && this.#wasReady) throw new Error("Connection is closed.");
      // Another holder of the client may be connecting it.
      const unlessOpen = (error: unknown): void => {
        if (!client.isOpen || !mayPass(error)) throw error;
      };
      const connect = client.isOpen ? undefined : () => client.connect().catch(unlessOpen);
      await this.#listening.untilReady(isReady, connect, this.#waiting.connectTimeoutMs);
    }
    this.#wasReady = true;
    if (this.#origin.own !== undefined) this.#origin.own.wasReady = true;
  }

  async send(key: string | undefined, command: Command): Promise<unknown> {
    const client = this.#client;
    if (!isCluster(client)) return sendTo(client)(command);
    try {
      return await client.sendCommand(key, false, [...command], AS_BYTES);
    } catch (error) {
      throw isUnserved(error) ? unserved(error) : error;
    } finally {
      if (this.#origin.own !== undefined) for (const node of nodesOf(client)) node.client?.unref();
    }
  }

  async primaries(): Promise<readonly Send[]> {
    const client = this.#client;
    if (!isCluster(client)) return [sendTo(client)];
    return client.masters.map((node) => async (command) => {
      const connected = (await client.nodeClient(node as never)) as NodeRedisClient;
      if (this.#origin.own !== undefined) connected.unref();
      return sendTo(connected)(command);
    });
  }

  async successor(): Promise<RedisPort> {
    return this.#origin.renew(isCluster(this.#client) ? await usableNodes(this.#client) : []);
  }

  abandon(): void {
    if (this.#origin.own === undefined) return;
    try {
      this.#client.destroy();
    } catch {
      // Version 5 throws if there is nothing left to end.
    }
  }

  async close(): Promise<void> {
    if (this.#origin.own === undefined) return this.#listening.stop();
    const { isReady, isOpen } = this.#client;
    // Commands in progress are answered first, if the server is there to answer.
    if (isOpen && isReady !== false) {
      await within(this.#waiting.connectTimeoutMs, Promise.resolve(this.#client.close())).catch(ignore);
    }
    this.abandon();
  }
}

const ignore = (): void => undefined;

const sendTo =
  (client: NodeRedisClient): Send =>
  (command) =>
    client.sendCommand([...command], AS_BYTES);

/** The error that the client runs into when no node serves a slot. */
const isUnserved = (error: unknown): boolean => error instanceof TypeError && error.message.includes("'master'");

const unserved = (cause: unknown): StateError =>
  new StateError("UNAVAILABLE", "no node of the cluster serves this slot; look at CLUSTER SLOTS", { cause });

/** The addresses of nodes that answer, or were not needed yet. A silent node may be the reason why a successor is needed. */
async function usableNodes(cluster: NodeRedisCluster): Promise<readonly Address[]> {
  const nodes = nodesOf(cluster);
  const usable = await Promise.all(
    nodes.map(({ client }) => client === undefined || (client.isReady === true && isAlive(sendTo(client)))),
  );
  return nodes.flatMap(({ host, port }, at) => (usable[at] ? [{ host, port }] : []));
}

interface NodeRedisModule {
  createClient(options: object): NodeRedisClient;
  createCluster(options: object): NodeRedisCluster;
}

const load = (): Promise<NodeRedisModule> => importPeer("redis", ">=5 <7");

/** We wait for a connection here, with a limit. The client's own queue has no limit. */
const options = ({ connectTimeoutMs }: Waiting, socket: object = {}): object => ({
  disableOfflineQueue: true,
  socket: {
    ...socket,
    connectTimeout: connectTimeoutMs,
    reconnectStrategy: false,
  },
});

const access = ({ username, password }: Place): object => ({
  ...(username !== undefined && { username }),
  ...(password !== undefined && { password }),
});

const rootsAt = (nodes: readonly Address[]): object => ({
  rootNodes: nodes.map(({ host, port }) => ({ socket: { host, port } })),
});

const ownPort = (client: NodeRedisClient | NodeRedisCluster, renew: Renew, waiting: Waiting): RedisPort =>
  new NodeRedisPort(client, { own: { wasReady: false }, renew }, waiting);

/**
 * A port over a client that was handed in. If it stops answering, duplicates of it
 * are used; the client itself is not touched.
 */
export function nodeRedisPortOf(
  client: NodeRedisClient | NodeRedisCluster,
  waiting: Waiting,
  listening: Listening,
): RedisPort {
  const duplicate = (nodes: readonly Address[]): NodeRedisClient | NodeRedisCluster =>
    isCluster(client)
      ? client.duplicate({ minimizeConnections: true, ...(nodes.length > 0 && rootsAt(nodes)) })
      : client.duplicate(options(waiting, client.options?.socket));
  const renewing =
    (before: readonly Address[]): Renew =>
    async (usable) => {
      const nodes = usable.length > 0 ? usable : before;
      return ownPort(duplicate(nodes), renewing(nodes), waiting);
    };
  return new NodeRedisPort(client, { renew: renewing([]) }, waiting, listening);
}

export async function openNodeRedis(place: Place, waiting: Waiting): Promise<RedisPort> {
  const { createClient } = await load();
  const { host, port, database, tls } = place;
  const socket = { host, port, ...(tls && { tls: true }) };
  const client = createClient({ ...options(waiting, socket), ...access(place), database });
  return ownPort(client, () => openNodeRedis(place, waiting), waiting);
}

export async function openNodeRedisCluster(
  place: Place,
  waiting: Waiting,
  nodes: readonly Address[] = [],
): Promise<RedisPort> {
  const { createCluster } = await load();
  const cluster = createCluster({
    ...rootsAt(nodes.length > 0 ? nodes : [place]),
    // Otherwise a node that is down would keep the others from being used.
    minimizeConnections: true,
    defaults: { ...options(waiting, place.tls ? { tls: true } : {}), ...access(place) },
  });
  const renew: Renew = (usable) => openNodeRedisCluster(place, waiting, usable.length > 0 ? usable : nodes);
  return ownPort(cluster, renew, waiting);
}
