import { unpacked } from "./debian-package.ts";

/** Debian's Redis, unpacked into the cache folder. */
export const unpackedRedis = (): ReturnType<typeof unpacked> =>
  unpacked({ name: "redis", packages: ["redis-server", "redis-tools"], program: "usr/bin/redis-server" });
