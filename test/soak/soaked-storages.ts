import { setTimeout as sleep } from "node:timers/promises";
import { openCheckpointer } from "../../src/backends/open.ts";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import { redisCheckpointer } from "../../src/backends/redis/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { startCuttingProxy } from "../network/cutting-proxy.ts";
import type { SeededRandom } from "../processes/seeded-random.ts";
import { sharedOnDisk } from "../processes/shared-storage.ts";
import { startPostgres } from "../services/postgres.ts";
import { startRedis } from "../services/redis.ts";
import type { TestServer } from "../services/server-process.ts";
import type { SoakedStorage } from "./soak.ts";

/** Short, so that a wire that died silently is noticed often in a soak. */
const CALL_TIMEOUT_MS = 3_000;

async function onDisk(backend: "file" | "sqlite"): Promise<SoakedStorage> {
  const { url, dispose } = await sharedOnDisk(backend);
  // Nothing disturbs these: a disk that stalls makes every writer wait for the lock, and is no
  // failure.
  const path = url.slice("sqlite:".length);
  const open = async (): Promise<Checkpointer> =>
    backend === "sqlite" ? sqliteCheckpointer({ path, busyTimeoutMs: 60_000 }) : openCheckpointer(url);
  return { open, dispose };
}

async function onServer(server: TestServer, open: (url: string) => Promise<Checkpointer>): Promise<SoakedStorage> {
  const proxy = await startCuttingProxy({ targetPort: server.port });
  const through = new URL(server.url);
  through.hostname = proxy.host;
  through.port = String(proxy.port);
  const blows: readonly ((random: SeededRandom) => Promise<void>)[] = [
    async () => proxy.cutAll(),
    async (random) => {
      proxy.refuse();
      await sleep(random.below(1_500));
      proxy.restore();
    },
    async (random) => {
      proxy.swallow(random.below(2) === 0 ? "to server" : "to client");
      await sleep(random.below(2 * CALL_TIMEOUT_MS));
      proxy.restore();
    },
    async (random) => {
      await server.kill();
      await sleep(random.below(1_000));
      await server.restart();
    },
  ];
  return {
    open: () => open(through.href),
    disturb: async (random) => blows[random.below(blows.length)]?.(random),
    dispose: async () => {
      await proxy.close();
      await server.stop();
    },
  };
}

export const SOAKED_STORAGES: Readonly<Record<string, () => Promise<SoakedStorage>>> = {
  sqlite: () => onDisk("sqlite"),
  file: () => onDisk("file"),
  postgres: async () =>
    onServer(await startPostgres(), async (dsn) =>
      postgresqlCheckpointer({ dsn, statementTimeoutMs: CALL_TIMEOUT_MS, connectTimeoutMs: CALL_TIMEOUT_MS }),
    ),
  redis: async () =>
    onServer(await startRedis(), async (url) =>
      redisCheckpointer({ url, commandTimeoutMs: CALL_TIMEOUT_MS, connectTimeoutMs: CALL_TIMEOUT_MS }),
    ),
};
