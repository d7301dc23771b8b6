import { expect, test } from "vitest";
import { isReadable } from "../src/checkpoint/log/listed-threads.ts";
import type { ThreadLog } from "../src/checkpoint/log/thread-log.ts";
import { put, recordAt } from "../src/testing/thread-log-cases/sample-records.ts";

/** An empty log in tables, with a client that can change rows by hand. */
export interface LogInTables {
  readonly log: ThreadLog;
  /** `tables`: what the names of its tables begin with. */
  readonly damage: (statement: (tables: string) => string) => Promise<unknown>;
}

/** One thread whose rows do not belong together is no trouble of the others', in lists and in queries. */
export function damagedRowsAreNamed(create: () => Promise<LogInTables>): void {
  test.each([
    ["metadata that is no JSON", (at: string) => `UPDATE ${at}records SET metadata = '{' WHERE thread_id = 'b'`, true],
    ["names that are no JSON", (at: string) => `UPDATE ${at}records SET names = '[' WHERE thread_id = 'b'`, false],
    ["no record at its head", (at: string) => `DELETE FROM ${at}records WHERE thread_id = 'b' AND seq = 3`, false],
  ])("a thread with %s ends no list and no query: it is an item with its trouble", async (_, statement, isListed) => {
    const { log, damage } = await create();
    for (const threadId of ["a", "b", "c"]) {
      for (const seq of [1, 2, 3]) await put(log, threadId, recordAt(seq, { metadata: '{"tag":"x"}' }));
    }
    await damage(statement);
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
}
