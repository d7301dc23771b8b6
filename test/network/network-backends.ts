import { openCheckpointer } from "../../src/backends/open.ts";
import { sharedOnServer } from "../processes/shared-storage.ts";
import { startMariadb } from "../services/mariadb.ts";
import { startOpensearch } from "../services/opensearch.ts";
import { startPostgres } from "../services/postgres.ts";
import { startRedis } from "../services/redis.ts";
import type { TestServer } from "../services/server-process.ts";
import type { WiredStorage } from "./wire-cuts.ts";

/** The backends that are one server at one address, which the tests can start. */
export const SERVER_BACKENDS = ["postgres", "mysql", "redis", "opensearch"] as const;
export type ServerBackend = (typeof SERVER_BACKENDS)[number];

/** A part of the server of its own, to be opened at whatever port leads there. */
export function wiredStorage(serverUrl: string): WiredStorage {
  const { url } = sharedOnServer(serverUrl);
  return {
    targetPort: Number(new URL(url).port),
    open: async (port, options) => {
      const there = new URL(url);
      there.port = String(port);
      return openCheckpointer(there.href, options);
    },
  };
}

/** A server of its own, which a test may kill. */
export const START_SERVER: Readonly<Record<ServerBackend, () => Promise<TestServer>>> = {
  postgres: () => startPostgres(),
  mysql: () => startMariadb(),
  redis: () => startRedis(),
  opensearch: () => startOpensearch(),
};

/** How long one lives between two kills: long enough to do some work. A JVM is slow at first. */
export const LIFETIME_MS: Readonly<Record<ServerBackend, number>> = {
  ...{ postgres: 800, mysql: 2_000, redis: 800, opensearch: 8_000 },
};
