import { StateError } from "../../errors.ts";
import type { RedisClient } from "./connect.ts";
import type { IoredisClient } from "./ioredis.ts";
import { Listening } from "./listening.ts";
import type { NodeRedisClient, NodeRedisCluster } from "./node-redis.ts";

type LibrarysClient =
  | { readonly library: "ioredis"; readonly client: IoredisClient }
  | { readonly library: "redis"; readonly client: NodeRedisClient | NodeRedisCluster };

/** A client that was handed in, with an error listener from that moment on. */
export type GivenClient = LibrarysClient & { readonly listening: Listening };

export function givenClient(client: RedisClient): GivenClient {
  const known = libraryOf(client);
  return { ...known, listening: new Listening(client) };
}

/** Which library the client comes from; refuses any other. */
export function libraryOf(client: RedisClient): LibrarysClient {
  if (isIoredis(client)) return { library: "ioredis", client };
  if (isNodeRedis(client)) return { library: "redis", client };
  const known = "Redis or Cluster of ioredis, createClient() or createCluster() of redis 5 or later";
  throw new StateError("INVALID_ARGUMENT", `the client that was handed in is not one of the known ones: ${known}`);
}

const isIoredis = (client: object): client is IoredisClient => "callBuffer" in client && "status" in client;

/** Version 4 has no `destroy` and would return bodies as text; a sentinel's `sendCommand` takes other arguments. */
const isNodeRedis = (client: object): client is NodeRedisClient | NodeRedisCluster =>
  "sendCommand" in client && "isOpen" in client && "destroy" in client && !("getSentinelNode" in client);
