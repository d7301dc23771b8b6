import { afterAll, describe, test } from "vitest";
import { canHavePgbouncer, HOW_TO_GET_PGBOUNCER, type PoolMode, startPgbouncer } from "./pgbouncer.ts";
import { requiredServices } from "./services.ts";
import { describeWithService } from "./with-service.ts";

/** `describe` for suites that go through a PgBouncer in each of these modes; `url` is the server's own. */
export async function describeWithPgbouncer(
  modes: readonly PoolMode[],
  body: (pooledUrl: string, url: string, mode: PoolMode) => void,
): Promise<void> {
  const isHere = await canHavePgbouncer();
  if (!isHere && requiredServices().includes("postgres")) {
    throw new Error(`HOLDFAST_TEST_REQUIRE asks for postgres, and there is no PgBouncer: ${HOW_TO_GET_PGBOUNCER}`);
  }
  if (!isHere) return void describe.skip("pgbouncer", () => test(`skipped: ${HOW_TO_GET_PGBOUNCER}`, () => undefined));
  await describeWithService("postgres", async (url) => {
    for (const mode of modes) {
      const pooler = await startPgbouncer(url, mode);
      describe(`behind PgBouncer in ${mode} mode`, () => {
        afterAll(() => pooler.stop());
        body(pooler.url, url, mode);
      });
    }
  });
}
