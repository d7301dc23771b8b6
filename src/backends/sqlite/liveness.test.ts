import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import type { SqliteDatabase } from "./connect.ts";
import { sqliteCheckpointer } from "./index.ts";
import { SqliteLog } from "./log.ts";
import { openDatabase } from "./open-file.ts";
import { sqliteLogOptions } from "./options.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-liveness-"));
afterAll(() => rm(folder, { recursive: true }));

const RECORDS = 10_000;

/** How often a timer of 10 ms fired during `work`, and how long the processor was at it: what a busy machine takes away is not counted. */
async function timersDuring(work: () => Promise<unknown>): Promise<{ readonly fired: number; readonly ms: number }> {
  let fired = 0;
  const timer = setInterval(() => fired++, 10);
  const before = process.cpuUsage();
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  const { user, system } = process.cpuUsage(before);
  return { fired, ms: (user + system) / 1_000 };
}

/** Appends to a thread, one record after another, until stopped. */
function writing(log: SqliteLog, threadId: string): () => Promise<number> {
  let stopped = false;
  const writer = (async () => {
    let seq = 0;
    while (!stopped) await log.append(threadId, requestFor(recordAt(++seq, { base: seq })));
    return seq;
  })();
  return () => {
    stopped = true;
    return writer;
  };
}

/** A connection that does not sync: test data may be lost. */
async function quickDatabase(path: string): Promise<SqliteDatabase> {
  const database = await openDatabase(path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = OFF");
  return database;
}

describe("long work beside a writer that never stops", () => {
  const path = join(folder, "long.db");
  let log: SqliteLog;

  beforeAll(async () => {
    const database = await quickDatabase(path);
    log = new SqliteLog(sqliteLogOptions({ database }));
    for (let seq = 1; seq <= RECORDS; seq++) {
      await log.append("long", requestFor(recordAt(seq, { base: seq, body: Buffer.from(`body ${"x".repeat(500)}`) })));
    }
    database.close();
    log = new SqliteLog(sqliteLogOptions({ path }));
  });
  afterAll(() => log.close());

  test("timers fire while 10,000 records are indexed, and it ends", async () => {
    const stop = writing(log, "busy with indexing");
    const { fired, ms } = await timersDuring(() => log.catchUp(({ seq }) => `word${seq % 100} number${seq}`));
    expect(await stop()).toBeGreaterThan(0);
    expect(fired).toBeGreaterThan(ms / 200);
    expect((await log.search(["number9999"], { limit: 10, prefix: "long" })).hits).toHaveLength(1);
  });

  test("timers fire while 10,000 checkpoints are listed page by page", async () => {
    const stop = writing(log, "busy with a listing");
    let listed = 0;
    const { fired, ms } = await timersDuring(async () => {
      let before = RECORDS + 1;
      while (before > 1) {
        const page = await log.list("long", { before, limit: 50 });
        listed += page.length;
        before = page.at(-1)?.seq ?? 0;
      }
    });
    await stop();
    expect(listed).toBe(RECORDS);
    expect(fired).toBeGreaterThan(ms / 200);
  });

  test("timers fire while 10,000 checkpoints are vacuumed beside a writer, and it ends", async () => {
    const vacuumed = join(folder, "vacuumed.db");
    const database = await quickDatabase(vacuumed);
    const quick = sqliteCheckpointer({ database });
    const threads = ["a", "b", "c", "d"];
    for (const threadId of threads) {
      let state = AgentState.create();
      for (let step = 0; step < RECORDS / threads.length; step++) {
        state = state.withMetadata({ step });
        await quick.save(state, threadId);
      }
    }
    database.close();
    await using checkpointer = sqliteCheckpointer({ path: vacuumed });
    // In tables of its own: it competes for the file, but the vacuum does not visit its thread.
    const writer = new SqliteLog(sqliteLogOptions({ path: vacuumed, tablePrefix: "busy_" }));
    const stop = writing(writer, "another");
    const { fired, ms } = await timersDuring(() => checkpointer.vacuum({ keepLast: 5 }));
    await stop();
    await writer.close();
    expect(fired).toBeGreaterThan(ms / 200);
    for (const threadId of threads) {
      expect(await checkpointer.listCheckpoints(threadId, { limit: 50 })).toHaveLength(5);
    }
  });

  test("timers fire while a thread of 10,000 indexed records is deleted, and no word of it is left", async () => {
    await log.catchUp(({ seq }) => `word${seq % 100} number${seq}`);
    const { fired, ms } = await timersDuring(() => log.remove("long"));
    expect(fired).toBeGreaterThan(ms / 200);
    expect((await log.search(["number9999"], { limit: 10, prefix: "long" })).hits).toEqual([]);
    const database = await openDatabase(path);
    const words = "SELECT count(*) AS n FROM holdfast_terms WHERE term LIKE 'number%' AND doc < 2 * 67108864";
    expect(database.prepare(words).get()).toMatchObject({ n: 0 });
    database.close();
  });

  test("timers fire while another process holds the write lock", async () => {
    // Longer than eleven timers take on any machine: one that waited without letting them fire would give up.
    const other = new SqliteLog(sqliteLogOptions({ path, busyTimeoutMs: 60_000 }));
    await other.tail("long");
    const holder = await openDatabase(path);
    holder.exec("BEGIN IMMEDIATE");
    let isOver = false;
    const appended = other.append("held", requestFor(recordAt(1))).finally(() => {
      isOver = true;
    });
    for (let fired = 0; fired < 11; fired++) await sleep(10);
    expect(isOver, "it waits for the lock").toBe(false);
    holder.exec("ROLLBACK");
    holder.close();
    expect(await appended).toMatchObject({ appended: true });
    await other.close();
  });
});

test("a record whose words cannot be read does not keep others from being found", async () => {
  const log = new SqliteLog(sqliteLogOptions({ path: ":memory:" }));
  for (const threadId of ["a", "newer", "z"]) {
    for (let seq = 1; seq <= 3; seq++) await log.append(threadId, requestFor(recordAt(seq, { header: threadId })));
  }
  const wordsOf = ({ header, seq }: { header: string; seq: number }): string => {
    if (header === "newer" && seq === 2) throw new StateError("INCOMPATIBLE", "written by a newer version");
    if (header === "a" && seq === 1) throw new RangeError("too long");
    return "apple";
  };
  await log.catchUp(wordsOf);
  const found = async (): Promise<readonly string[]> =>
    (await log.search(["apple"], { limit: 50 })).hits.map(({ threadId, entry }) => `${threadId}/${entry.seq}`).sort();
  expect(await found()).toEqual(["a/2", "a/3", "newer/1", "newer/3", "z/1", "z/2", "z/3"]);
  await log.close();
});
