import { afterAll, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import { put, recordAt } from "../../testing/thread-log-cases/sample-records.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { PostgresLog } from "./log.ts";

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  test.each([
    ["metadata that is no JSON", (at: string) => `UPDATE ${at}records SET metadata = '{' WHERE thread_id = 'b'`, true],
    ["names that are no JSON", (at: string) => `UPDATE ${at}records SET names = '[' WHERE thread_id = 'b'`, false],
    ["no record at its head", (at: string) => `DELETE FROM ${at}records WHERE thread_id = 'b' AND seq = 3`, false],
  ])("a thread with %s ends no list and no query: it is an item with its trouble", async (_, damage, isListed) => {
    const tablePrefix = place.prefix();
    const log = new PostgresLog(postgresLogOptions({ dsn: url, schema, tablePrefix }));
    for (const threadId of ["a", "b", "c"]) {
      for (const seq of [1, 2, 3]) await put(log, threadId, recordAt(seq, { metadata: '{"tag":"x"}' }));
    }
    await sql(damage(`${schema}.${tablePrefix}`));
    const trouble = { threadId: "b", trouble: { code: "CORRUPT", message: expect.any(String) } };
    const { items } = await log.listThreads({ prefix: "", limit: 10 });
    expect(items.map(({ threadId }) => threadId)).toEqual(["a", "b", "c"]);
    if (!isListed) expect(items[1]).toEqual(trouble);
    for (const limit of [1, 10]) {
      const found = [];
      for (let cursor: string | undefined = ""; cursor !== undefined; ) {
        const page = await log.queryMetadata("tag", '"x"', { limit, cursor });
        found.push(...page.items);
        cursor = page.cursor;
      }
      expect(found.filter(isReadable).map(({ threadId }) => threadId)).toEqual(["a", "c"]);
      expect(found.filter((thread) => !isReadable(thread))).toEqual([trouble]);
    }
    await log.close();
  });
});
