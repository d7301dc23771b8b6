import type { Durability } from "../../driver/durability.ts";
import { StateError } from "../../errors.ts";
import type { RedisLibrary } from "./connect.ts";
import type { GivenClient } from "./given-client.ts";
import { IoredisPort, ioredisPortOf, openIoredis, openIoredisCluster } from "./ioredis.ts";
import { nodeRedisPortOf, openNodeRedis, openNodeRedisCluster } from "./node-redis.ts";
import { type RedisPort, type Send, type Waiting, within } from "./port.ts";
import { durabilityOf, isClusterNode } from "./server-facts.ts";
import type { Place } from "./url.ts";

export interface ConnectOptions extends Waiting {
  readonly place: Place;
  /** A port over a client that was handed in, instead of a place. */
  readonly given: RedisPort | undefined;
  readonly library: RedisLibrary | undefined;
}

/** A server that has answered, and what it reported. */
export interface Contact {
  readonly port: RedisPort;
  readonly durability: Durability;
}

/** The first contact: learns what the server is and which durability it has. */
export async function connect(options: ConnectOptions): Promise<Contact> {
  const port = options.given ?? (await openPlace(options));
  try {
    await port.ready();
    const send: Send = (command) => within(options.commandTimeoutMs, port.send(undefined, command));
    if (!port.isCluster && (await isClusterNode(send))) return await asCluster(port, options);
    return { port, durability: await durabilityOf(await port.primaries(), options.commandTimeoutMs) };
  } catch (error) {
    if (options.given === undefined) await port.close();
    throw error;
  }
}

/** Commands for a key must go to the node that has it, which a plain connection cannot do. */
async function asCluster(port: RedisPort, options: ConnectOptions): Promise<Contact> {
  if (options.given !== undefined) {
    const what = "this server is a node of a cluster and the client that was handed in is a plain one";
    throw new StateError("INVALID_ARGUMENT", `${what}; hand in a cluster client (Cluster, createCluster), or the URL`);
  }
  await port.close();
  const open = port instanceof IoredisPort ? openIoredisCluster : openNodeRedisCluster;
  const cluster = await open(options.place, options);
  try {
    await cluster.ready();
    return { port: cluster, durability: await durabilityOf(await cluster.primaries(), options.commandTimeoutMs) };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

export function portOf(given: GivenClient, waiting: Waiting): RedisPort {
  if (given.library === "ioredis") return ioredisPortOf(given.client, waiting, given.listening);
  return nodeRedisPortOf(given.client, waiting, given.listening);
}

async function openPlace({ place, library, ...waiting }: ConnectOptions): Promise<RedisPort> {
  if (library === "redis") return openNodeRedis(place, waiting);
  try {
    return await openIoredis(place, waiting);
  } catch (error) {
    if (library === "ioredis" || !StateError.is(error, "MISSING_DEPENDENCY")) throw error;
    return openNodeRedis(place, waiting).catch((other: unknown) => {
      throw StateError.is(other, "MISSING_DEPENDENCY") ? neither(error) : other;
    });
  }
}

const neither = (cause: unknown): StateError =>
  new StateError("MISSING_DEPENDENCY", "a Redis client is needed here: npm install ioredis, or npm install redis", {
    cause,
  });
