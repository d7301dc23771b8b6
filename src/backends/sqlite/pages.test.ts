import { afterEach, beforeEach, expect, test } from "vitest";
import { observedDatabase } from "../../../test/observed-database.ts";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import { grow, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
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

const explaining = (): SqliteDatabase => {
  const onAll = (sql: string, values: readonly SqliteValue[]): void => {
    if (/ORDER BY [tm]\.thread_id|MATCH \?/.test(sql)) plans.push(planOf(database, sql, values));
  };
  return observedDatabase(database, { onAll });
};

beforeEach(async () => {
  plans = [];
  database = await openDatabase(":memory:");
  log = new SqliteLog(sqliteLogOptions({ database: explaining() }));
  for (const threadId of ["a", "b/", "b/1", "b/2", "c", "\u{10ffff}"]) await grow(log, threadId, 1);
});
afterEach(async () => {
  await log.close();
  database.close();
});

const listed = async (prefix: string, cursor?: string): Promise<readonly string[]> => {
  const page = await log.listThreads({ prefix, limit: 10, ...(cursor !== undefined && { cursor }) });
  return page.items.filter(isReadable).map(({ threadId }) => threadId);
};

test("a page of threads is one range of their table: from its cursor on, and no further than its prefix", async () => {
  await listed("b/", "b/1");
  expect(plans).toHaveLength(1);
  expect(plans[0]).toMatch(/SEARCH t USING PRIMARY KEY \(thread_id>\? AND thread_id<\?\)/);
});

test("a query by metadata is two ranges of its index, merged in the order of ids, and sorts nothing", async () => {
  await log.queryMetadata("key", "1", { limit: 10, prefix: "b", cursor: "b" });
  const range = "SEARCH holdfast_members USING PRIMARY KEY \\(member=\\? AND thread_id>\\? AND thread_id<\\?\\)";
  expect(plans).toHaveLength(1);
  expect(plans[0]).toMatch(
    new RegExp(`MERGE \\(UNION\\); LEFT; ${range}; RIGHT; ${range}; SCAN m; SEARCH t USING PRIMARY KEY`),
  );
  expect(plans[0]).not.toMatch(/TEMP B-TREE|SCAN t|SCAN r/);
});

test("a search within a prefix learns from an index whose a hit is, before it reads a row", async () => {
  const learns = /SCAN w VIRTUAL TABLE[^;]*; (?:[A-Z ]*SUBQUERY 1; )?SEARCH t USING COVERING INDEX [^;]*; SEARCH r/;
  for (const searchRanksUpTo of [1, 100]) {
    const own = new SqliteLog(sqliteLogOptions({ database: explaining(), searchRanksUpTo }));
    for (const threadId of ["x1", "x2"]) await own.append(threadId, requestFor({ ...recordAt(1), words: "apple" }));
    await own.catchUp(() => "apple");
    plans = [];
    const { order } = await own.search(["apple"], { limit: 10, prefix: "x" });
    expect(order).toBe(searchRanksUpTo === 1 ? "newest" : "best");
    expect(plans).toHaveLength(1);
    expect(plans[0]).toMatch(learns);
    for (const threadId of ["x1", "x2"]) await own.remove(threadId);
    await own.close();
  }
});

test("a page begins with the prefix itself, and behind its cursor", async () => {
  expect(await listed("b/")).toEqual(["b/", "b/1", "b/2"]);
  expect(await listed("b/", "b/")).toEqual(["b/1", "b/2"]);
  expect(await listed("b/", "b/1")).toEqual(["b/2"]);
  expect(await listed("", "b/2")).toEqual(["c", "\u{10ffff}"]);
  expect(await listed("b/", "a")).toEqual(["b/", "b/1", "b/2"]);
  expect(await listed("b/", "c")).toEqual([]);
});
