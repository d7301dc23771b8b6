import { createHash } from "node:crypto";

/** The server whose address bench/servers.ts passed to a contender's process. */
export function serverUrl(kind: "postgres" | "redis"): string {
  const url = process.env[SERVER_VARIABLES[kind]];
  if (url === undefined) throw new Error(`the address of ${kind} is not in ${SERVER_VARIABLES[kind]}`);
  return url;
}

export const SERVER_VARIABLES = {
  postgres: "HOLDFAST_BENCH_POSTGRES_URL",
  redis: "HOLDFAST_BENCH_REDIS_URL",
} as const;

/** A name that is the directory's alone, for a schema or the beginning of keys. */
export const placeName = (directory: string): string =>
  `bench_${createHash("sha256").update(directory).digest("hex").slice(0, 16)}`;
