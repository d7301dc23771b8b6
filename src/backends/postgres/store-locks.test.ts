import { Client } from "pg";
import { afterAll, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { postgresqlStore } from "./store.ts";

await describeWithService("postgres", (url) => {
  const { schema, prefix, sql, dispose } = postgresPlace(url);
  afterAll(dispose);

  test("a batch that meets an expired item waits for what a clearing has locked before it locks anything that the clearing needs", async () => {
    const tablePrefix = prefix();
    const store = postgresqlStore({ dsn: url, schema, tablePrefix });
    const tables = `${schema}.${tablePrefix}`;
    for (const key of ["first", "second", "third"]) await store.put(["n"], key, 1);
    // As if its time were over: the batch removes it.
    await sql(`UPDATE ${tables}items SET expires_at = 1 WHERE key = 'third'`);
    const clearing = new Client({ connectionString: url });
    await clearing.connect();
    try {
      await clearing.query("BEGIN");
      await clearing.query(`SELECT id FROM ${tables}items WHERE key = 'first' FOR UPDATE`);
      const batch = store.putBatch(["third", "second", "first"].map((key) => ({ namespace: ["n"], key, value: 2 })));
      const waiting = `SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE NOT l.granted AND a.query LIKE '%${tablePrefix}%'`;
      while ((await sql(waiting)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      // What a clearing does next.
      await clearing.query("SET lock_timeout = '500ms'");
      await clearing.query(`SELECT id FROM ${tables}items WHERE key IN ('second', 'third') ORDER BY id FOR UPDATE`);
      await clearing.query("COMMIT");
      expect((await batch).map(({ version }) => version)).toHaveLength(3);
    } finally {
      await clearing.end();
      await store.close();
    }
  });
});
