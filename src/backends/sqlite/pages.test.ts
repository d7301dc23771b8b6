import { afterEach, beforeEach, expect, test } from "vitest";
import { observedDatabase } from "../../../test/observed-database.ts";
import { grow } from "../../testing/thread-log-cases/sample-records.ts";
import type { SqliteDatabase, SqliteValue } from "./connect.ts";
import { SqliteLog } from "./log.ts";
import { openDatabase } from "./open-file.ts";
import { sqliteLogOptions } from "./options.ts";

let database: SqliteDatabase;
let log: SqliteLog;
/** How SQLite finds the threads of the pages that were read. */
let plans: string[] = [];

const planOf = (inner: SqliteDatabase, sql: string, values: readonly SqliteValue[]): string =>
  (inner.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[])
    .map(({ detail }) => detail)
    .join("; ");

beforeEach(async () => {
  plans = [];
  database = await openDatabase(":memory:");
  const onAll = (sql: string, values: readonly SqliteValue[]): void => {
    if (/ORDER BY [tm]\.thread_id/.test(sql)) plans.push(planOf(database, sql, values));
  };
  log = new SqliteLog(sqliteLogOptions({ database: observedDatabase(database, { onAll }) }));
  for (const threadId of ["a", "b/", "b/1", "b/2", "c", "\u{10ffff}"]) await grow(log, threadId, 1);
});
afterEach(async () => {
  await log.close();
  database.close();
});

const listed = async (prefix: string, cursor?: string): Promise<readonly string[]> => {
  const page = await log.listThreads({ prefix, limit: 10, ...(cursor !== undefined && { cursor }) });
  return page.items.map(({ threadId }) => threadId);
};

test("a page of threads is one range of their table: from its cursor on, and no further than its prefix", async () => {
  await listed("b/", "b/1");
  expect(plans).toHaveLength(1);
  expect(plans[0]).toMatch(/SEARCH t USING PRIMARY KEY \(thread_id>\? AND thread_id<\?\)/);
});

test("20: a query by metadata is two ranges of its index, merged in the order of ids, and sorts nothing", async () => {
  await log.queryMetadata("key", "1", { limit: 10, prefix: "b", cursor: "b" });
  const range = "SEARCH holdfast_members USING PRIMARY KEY \\(member=\\? AND thread_id>\\? AND thread_id<\\?\\)";
  expect(plans).toHaveLength(1);
  expect(plans[0]).toMatch(
    new RegExp(`MERGE \\(UNION\\); LEFT; ${range}; RIGHT; ${range}; SCAN m; SEARCH t USING PRIMARY KEY`),
  );
  expect(plans[0]).not.toMatch(/TEMP B-TREE|SCAN t|SCAN r/);
});

test("a page begins with the prefix itself, and behind its cursor", async () => {
  expect(await listed("b/")).toEqual(["b/", "b/1", "b/2"]);
  expect(await listed("b/", "b/")).toEqual(["b/1", "b/2"]);
  expect(await listed("b/", "b/1")).toEqual(["b/2"]);
  expect(await listed("", "b/2")).toEqual(["c", "\u{10ffff}"]);
  expect(await listed("b/", "a")).toEqual(["b/", "b/1", "b/2"]);
  expect(await listed("b/", "c")).toEqual([]);
});
