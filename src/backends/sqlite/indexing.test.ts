import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { observedDatabase } from "../../../test/observed-database.ts";
import { grow, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import type { SqliteDatabase, SqliteValue } from "./connect.ts";
import { SqliteLog } from "./log.ts";
import { openDatabase } from "./open-file.ts";
import { sqliteLogOptions } from "./options.ts";
import { rowId } from "./rows.ts";

const THREADS = Array.from({ length: 40 }, (_, index) => `thread ${index}`);
const RECORDS = 3;

let database: SqliteDatabase;
let log: SqliteLog;
let commits = 0;
/** What the test lets happen before a statement runs. */
let before: (sql: string, values: readonly SqliteValue[]) => void = () => undefined;

beforeEach(async () => {
  before = () => undefined;
  const onRun: typeof before = (sql, values) => {
    if (sql === "COMMIT") commits++;
    before(sql, values);
  };
  database = await openDatabase(":memory:");
  log = new SqliteLog(sqliteLogOptions({ database: observedDatabase(database, { onRun }) }));
  for (const threadId of THREADS) await grow(log, threadId, RECORDS);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await log.close();
  database.close();
});

const wordsOf = ({ seq }: { readonly seq: number }): string => `word${seq}`;
const indexed = (): number => (database.prepare("SELECT count(*) AS n FROM holdfast_indexed").get() as { n: number }).n;
const found = async (): Promise<readonly string[]> =>
  (await log.search(["word1"], { limit: 100 })).hits.map(({ threadId }) => threadId).toSorted();

/** As SQLite reports a page that makes no sense. */
const malformed = (): Error => Object.assign(new Error("database disk image is malformed"), { errcode: 11 });

/** Throws at the words of this row. */
const failAt = (id: number, error: Error): void => {
  before = (sql, [row]) => {
    if (sql.startsWith("INSERT INTO holdfast_words (rowid") && row === id) throw error;
  };
};

describe("words of many threads are indexed together", () => {
  test("in one transaction, as long as that is short", async () => {
    vi.spyOn(performance, "now").mockReturnValue(0);
    commits = 0;
    await log.catchUp(wordsOf);
    // Two that only read: which threads there are, and which of them are stale.
    expect(commits).toBe(3);
    expect(indexed()).toBe(THREADS.length * RECORDS);
    expect(await found()).toEqual(THREADS.toSorted());
  });

  test("in more than one where it takes long, and to the end", async () => {
    let clock = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (clock += 100));
    commits = 0;
    await log.catchUp(wordsOf);
    expect(commits).toBe(2 + THREADS.length);
    expect(await found()).toEqual(THREADS.toSorted());
  });

  test("a thread that is longer than a batch is indexed to the end, and so is the one behind it", async () => {
    await grow(log, "long", 700);
    await grow(log, "behind", RECORDS);
    await log.catchUp(wordsOf);
    expect(indexed()).toBe((THREADS.length + 1) * RECORDS + 700);
    expect((await log.search(["word700"], { limit: 10 })).hits.map(({ threadId }) => threadId)).toEqual(["long"]);
    expect(await found()).toContain("behind");
  });

  test("a damaged thread is left out alone", async () => {
    database.exec("UPDATE holdfast_threads SET tail = 7 WHERE thread_id = 'thread 5'");
    await log.catchUp(wordsOf);
    expect(await found()).toEqual(THREADS.filter((threadId) => threadId !== "thread 5").toSorted());
  });

  test("where the file is damaged, the others are indexed, and the damage is reported", async () => {
    failAt(rowId(6, 2), malformed());
    await expect(log.catchUp(wordsOf)).rejects.toThrow("malformed");
    expect(await found()).toEqual(THREADS.filter((threadId) => threadId !== "thread 5").toSorted());
    before = () => undefined;
    await log.catchUp(wordsOf);
    expect(await found()).toEqual(THREADS.toSorted());
    expect(indexed()).toBe(THREADS.length * RECORDS);
  });

  test("a batch that breaks off leaves nothing behind and is made again, each record once", async () => {
    vi.spyOn(performance, "now").mockReturnValue(0);
    failAt(rowId(30, 3), Object.assign(new Error("database or disk is full"), { errcode: 13 }));
    await expect(log.catchUp(wordsOf)).rejects.toThrow("full");
    expect(indexed()).toBe(0);
    before = () => undefined;
    await log.catchUp(wordsOf);
    await log.catchUp(wordsOf);
    expect(indexed()).toBe(THREADS.length * RECORDS);
    expect(await found()).toEqual(THREADS.toSorted());
  });

  test("a thread is stale again with its next record, and the index of stale threads is empty when all are indexed", async () => {
    const stale = (): unknown[] => database.prepare("SELECT thread_no FROM holdfast_threads WHERE stale = 1").all();
    await log.catchUp(wordsOf);
    expect(stale()).toEqual([]);
    await log.append("thread 3", requestFor(recordAt(RECORDS + 1)));
    await log.append("thread 3", requestFor(recordAt(RECORDS + 2)));
    expect(stale()).toEqual([{ thread_no: 4 }]);
    await log.catchUp(wordsOf);
    expect(stale()).toEqual([]);
    expect((await log.search([`word${RECORDS + 2}`], { limit: 10 })).hits.map(({ threadId }) => threadId)).toEqual([
      "thread 3",
    ]);
  });
});
