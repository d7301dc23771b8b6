import { Pool } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { postgresqlDdl } from "./index.ts";
import { sortNowAndThen } from "./sorting-words.ts";

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  describe.for([0, 3])("with %i partitions", (partitions) => {
    test("a role that may only read and write rows sorts the words that wait into their index", async () => {
      const tablePrefix = place.prefix();
      const role = await place.role();
      for (const statement of postgresqlDdl({ schema, tablePrefix, partitions, role: role.name })) await sql(statement);
      const pool = new Pool({ connectionString: role.url, max: 1 });
      const table = `${schema}.${tablePrefix}words`;
      await pool.query(`INSERT INTO ${table} (thread_id, seq, at, words)
        SELECT 'thread ' || n, 1, n, to_tsvector('simple', 'word' || n) FROM generate_series(1, 20) n`);
      await pool.query(`SELECT ${schema}.${tablePrefix}sort_words()`);
      await pool.end();
      const waited = `SELECT coalesce(sum(gin_clean_pending_list(c.oid)), 0)::int AS pages FROM pg_class c
        JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'gin')
          AND i.indrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::regclass UNION SELECT $1::regclass)`;
      expect(await sql(waited, [table])).toEqual([{ pages: 0 }]);
      await sql(
        `INSERT INTO ${table} (thread_id, seq, at, words) VALUES ('late', 1, 1, to_tsvector('simple', 'late'))`,
      );
      expect(await sql(waited, [table])).toEqual([{ pages: 1 }]);
    });
  });

  test("words are found before and after they are sorted in, and a search does not fail where that fails", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = place.open({ dsn: url, tablePrefix });
    const state = AgentState.create().withMessage(userMessage("a lighthouse"));
    await checkpointer.save(state, "t");
    expect(await checkpointer.search("lighthouse")).toHaveLength(1);
    await sql(`SELECT ${schema}.${tablePrefix}sort_words()`);
    expect(await checkpointer.search("lighthouse")).toHaveLength(1);
    await sql(`DROP FUNCTION ${schema}.${tablePrefix}sort_words()`);
    // Long enough for sorting to be due with certainty.
    const long = Array.from({ length: 4000 }, (_, index) => `word${index}`).join(" ");
    await checkpointer.save(state.withMessage(userMessage(`${long} harbour`)), "t");
    expect(await checkpointer.search("harbour")).toHaveLength(1);
  });
});

test("sorting is due for certain once enough was written, and never where nothing was", async () => {
  const asked: string[] = [];
  const run = async (statement: string): Promise<never[]> => {
    asked.push(statement);
    return [];
  };
  await sortNowAndThen(run, 0, 100);
  expect(asked).toEqual([]);
  await sortNowAndThen(run, 100, 100);
  expect(asked).toEqual(["sortWords"]);
});
