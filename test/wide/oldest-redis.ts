import { Cluster, Redis } from "ioredis-v5";
import { createClient, createCluster } from "redis-v5";
import type { ClientKind } from "../redis/fixtures.ts";

/** The lower ends of the ranges in src/backends/registry.ts. */
export const OLDEST_CLIENT_KINDS: readonly ClientKind[] = [
  {
    name: "ioredis 5.2.6",
    make: (url) => new Redis(url, { lazyConnect: true }),
    makeCluster: (url) => new Cluster([url], { lazyConnect: true, redisOptions: { password: new URL(url).password } }),
  },
  {
    name: "node-redis 5.0.0",
    make: (url) => createClient({ url }),
    makeCluster: (url) => createCluster({ rootNodes: [{ url }], defaults: { password: new URL(url).password } }),
  },
];
