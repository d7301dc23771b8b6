import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { observedDatabase } from "../../../test/observed-database.ts";
import { endOfLongTurn } from "../../internal/time.ts";
import { recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import type { SqliteDatabase } from "./connect.ts";
import { SqliteLog } from "./log.ts";
import { openDatabase } from "./open-file.ts";
import { sqliteLogOptions } from "./options.ts";
import { sqliteStore } from "./store.ts";

const THREADS = Array.from({ length: 16 }, (_, index) => `thread ${index}`);

let database: SqliteDatabase;
let log: SqliteLog;
/** How many transactions were committed. */
let commits = 0;
/** Counts them. */
const onRun = (sql: string): void => {
  if (sql === "COMMIT") commits++;
};

beforeEach(async () => {
  database = await openDatabase(":memory:");
  log = new SqliteLog(sqliteLogOptions({ database: observedDatabase(database, { onRun }) }));
  for (const threadId of THREADS) await log.append(threadId, requestFor(recordAt(1)));
  commits = 0;
});
afterEach(async () => {
  await log.close();
  database.close();
});

const tails = async (): Promise<readonly (number | undefined)[]> => {
  const found: (number | undefined)[] = [];
  for (const threadId of THREADS) found.push((await log.tail(threadId).catch(() => undefined))?.entry.seq);
  return found;
};

const appendToAll = (seq: number, body = "small"): Promise<readonly PromiseSettledResult<unknown>[]> =>
  Promise.allSettled(
    THREADS.map((threadId) => log.append(threadId, requestFor(recordAt(seq, { body: Buffer.from(body) })))),
  );

describe("saves that wait together share one transaction", () => {
  test("appends of one moment are committed at once, and one alone by itself", async () => {
    await appendToAll(2);
    const first = commits;
    expect(first).toBeLessThan(THREADS.length / 2);
    await log.append("thread 0", requestFor(recordAt(3)));
    expect(commits).toBe(first + 1);
    expect(await tails()).toEqual(THREADS.map((_, index) => (index === 0 ? 3 : 2)));
  });

  test("a thread that is damaged fails alone in its group", async () => {
    database.exec("UPDATE holdfast_threads SET tail = 7 WHERE thread_id = 'thread 5'");
    const answers = await appendToAll(2);
    expect(answers.map(({ status }) => status)).toEqual(
      THREADS.map((_, index) => (index === 5 ? "rejected" : "fulfilled")),
    );
    expect(answers[5]).toMatchObject({ reason: { code: "CORRUPT" } });
    expect(await tails()).toEqual(THREADS.map((_, index) => (index === 5 ? undefined : 2)));
  });

  test("one that the disk has no room for fails alone, and leaves nothing behind", async () => {
    const { page_count: pages } = database.prepare("PRAGMA page_count").get() as { page_count: number };
    database.exec(`PRAGMA max_page_count = ${pages + 40}`);
    const answers = await Promise.allSettled(
      THREADS.map((threadId, index) => {
        const body = Buffer.alloc(index === 7 ? 10_000_000 : 10, "x");
        return log.append(threadId, requestFor(recordAt(2, { body })));
      }),
    );
    expect(answers.flatMap(({ status }, index) => (status === "rejected" ? index : []))).toEqual([7]);
    expect(answers[7]).toMatchObject({ reason: { code: "STORAGE_FULL" } });
    expect(await tails()).toEqual(THREADS.map((_, index) => (index === 7 ? 1 : 2)));
  });

  test("a group that was undone as a whole is made again one by one", async () => {
    // What SQLite does by itself where it has no memory left.
    database.exec(`CREATE TEMP TRIGGER undoing BEFORE INSERT ON main.holdfast_records WHEN NEW.header = 'poison'
      BEGIN SELECT RAISE(ROLLBACK, 'out of memory'); END`);
    const answers = await Promise.allSettled(
      THREADS.map((threadId, index) =>
        log.append(threadId, requestFor(recordAt(2, index === 9 ? { header: "poison" } : {}))),
      ),
    );
    expect(answers.flatMap(({ status }, index) => (status === "rejected" ? index : []))).toEqual([9]);
    expect(await tails()).toEqual(THREADS.map((_, index) => (index === 9 ? 1 : 2)));
  });

  test("all of a group that could not begin are told why, and the next group begins", async () => {
    const begin = "cannot start a transaction within a transaction";
    database.exec("BEGIN");
    const answers = await appendToAll(2);
    expect(answers.every(({ status }) => status === "rejected")).toBe(true);
    expect(String((answers[0] as PromiseRejectedResult).reason)).toContain(begin);
    database.exec("COMMIT");
    expect((await appendToAll(2)).every(({ status }) => status === "fulfilled")).toBe(true);
  });
});

/** Keeps the event loop in one turn for longer than calls may. */
const lastLong = (): void => {
  void endOfLongTurn();
  const end = performance.now() + 20;
  while (performance.now() < end);
};

test.each([
  ["", () => {}],
  [" also behind a long turn of the event loop", lastLong],
])("puts of one moment share transactions%s, and one that is refused fails alone", async (_when, before) => {
  const store = sqliteStore({ database: observedDatabase(database, { onRun }) });
  await store.put(["ns"], "k3", "there");
  commits = 0;
  before();
  const answers = await Promise.allSettled(
    THREADS.map((_, index) => store.put(["ns"], `k${index}`, index, index === 3 ? { expectedVersion: null } : {})),
  );
  expect(commits).toBeLessThan(THREADS.length);
  expect(answers.flatMap(({ status }, index) => (status === "rejected" ? index : []))).toEqual([3]);
  expect(answers[3]).toMatchObject({ reason: { code: "CONFLICT" } });
  const items = await store.getBatch(THREADS.map((_, index) => ({ namespace: ["ns"], key: `k${index}` })));
  expect(items).toEqual(THREADS.map((_, index) => (index === 3 ? "there" : index)));
  await store.close();
});
