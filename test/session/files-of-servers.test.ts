import { join } from "node:path";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { CoreUserStore } from "../../src/session/user-store.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { describeWithOwnRedis } from "../redis/fixtures.ts";
import { findPostgres, HOW_TO_GET_POSTGRES, startPostgres } from "../services/postgres.ts";
import { startRedis } from "../services/redis.ts";
import { fill, KEY, range, readableIn, userOf } from "./people.ts";

/** test/campaigns/erasing.test.ts has more. */
const [PEOPLE, GONE] = [6, 2];
const [ERASED, KEPT] = [range(0, GONE), range(GONE, PEOPLE)];

async function fillAndErase(
  url: string,
  beforeErasing: () => Promise<void>,
): Promise<{ readonly cleaned: string; readonly remains: string }> {
  const [checkpointer, store] = [await openCheckpointer(url), await openStore(url)];
  await fill(checkpointer, store, new CoreUserStore(async () => store), PEOPLE);
  await beforeErasing();
  const data = new PersonalData({
    checkpointers: [checkpointer],
    stores: [store],
    ledger: new InMemoryStore(),
    key: KEY,
  });
  for (const person of ERASED) await data.eraseUser(userOf(person));
  const places = (await data.receipts()).flatMap((receipt) => receipt.places);
  await checkpointer.close();
  await store.close();
  return {
    cleaned: places.flatMap(({ cleaned }) => cleaned).join("; "),
    remains: places.flatMap(({ remains }) => remains).join("; "),
  };
}

await describeWithOwnRedis("the files of a Redis server", () => {
  test("hold no word of the people who were erased, in the append-only file or the dump, and every word of the others", async () => {
    // Uncompressed, so that a word that is there can be seen.
    const server = await startRedis({ settings: { save: "3600 100000", rdbcompression: "no" } });
    try {
      const { cleaned, remains } = await fillAndErase(server.url, async () => {
        expect(await readableIn(server.folder, ERASED)).toEqual(ERASED);
      });
      expect(cleaned).toContain("the append-only file was written anew");
      expect(cleaned).toContain("the dump was written anew");
      expect(remains).toContain("replicas");
      expect(await readableIn(server.folder, ERASED)).toEqual([]);
      expect(await readableIn(server.folder, KEPT)).toEqual(KEPT);
    } finally {
      await server.stop();
    }
  });
});

const hasPostgres = (await findPostgres()) !== undefined;
describe.skipIf(!hasPostgres)(
  `the files of a PostgreSQL server${hasPostgres ? "" : `: ${HOW_TO_GET_POSTGRES}`}`,
  () => {
    test("the receipt says that dead rows, the planner's samples and the log remain; after ANALYZE and VACUUM FULL the tables' files hold no word of them", async () => {
      const server = await startPostgres();
      const admin = new pg.Client({ connectionString: server.url });
      try {
        await admin.connect();
        // As the server does by itself sooner or later: samples of what is in the columns lie in a table of its own then.
        const { remains } = await fillAndErase(server.url, async () => void (await admin.query("ANALYZE")));
        expect(remains).toMatch(/dead rows.*VACUUM FULL.*write-ahead log/);
        expect(remains).toMatch(/pg_statistic.*ANALYZE/);
        for (const step of ["ANALYZE", "VACUUM FULL", "CHECKPOINT"]) await admin.query(step);
        const tables = join(server.folder, "data", "base");
        expect(await readableIn(tables, ERASED)).toEqual([]);
        expect(await readableIn(tables, KEPT)).toEqual(KEPT);
      } finally {
        await admin.end();
        await server.stop();
      }
    });
  },
);
