export { type RedisCheckpointerOptions, redisCheckpointer } from "./checkpointer.ts";
export {
  type RedisClient,
  type RedisConnection,
  type RedisConnectionOptions,
  type RedisLibrary,
  redisConnection,
} from "./connect.ts";
export type { IoredisClient, IoredisCluster, IoredisRedis } from "./ioredis.ts";
export type { NodeRedisClient, NodeRedisCluster } from "./node-redis.ts";
export { type MendedRedisStore, mendRedisStore, type RedisStoreOptions, redisStore } from "./store.ts";
