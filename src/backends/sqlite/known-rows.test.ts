import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { grow, markAt, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import type { SqliteDatabase } from "./connect.ts";
import { WriteGroups } from "./connection.ts";
import { openHandle, type SqliteHandle } from "./handle.ts";
import { SqliteLog } from "./log.ts";
import { openDatabase } from "./open-file.ts";
import { sqliteLogOptions } from "./options.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-known-rows-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const freshPath = (): string => join(folder, `${++files}.db`);

/** Two processes that append to the same file. */
const twoLogs = (): readonly [SqliteLog, SqliteLog] => {
  const path = freshPath();
  return [new SqliteLog(sqliteLogOptions({ path })), new SqliteLog(sqliteLogOptions({ path }))];
};

const append = (log: SqliteLog, threadId: string, seq: number, generation = "first"): Promise<unknown> =>
  log.append(threadId, requestFor(recordAt(seq), { generation }));

describe("an append behind a row that the process has seen before", () => {
  test("is refused where another process was faster, and made where that is known", async () => {
    const [one, other] = twoLogs();
    await grow(one, "t", 3);
    expect(await append(other, "t", 4)).toEqual({ appended: true });
    expect(await append(one, "t", 4)).toMatchObject({ appended: false, tail: { seq: 4 }, occupant: { seq: 4 } });
    for (const [log, seq] of [
      [one, 5],
      [other, 6],
      [other, 7],
      [one, 8],
      [one, 9],
    ] as const) {
      expect(await append(log, "t", seq), `record ${seq}`).toEqual({ appended: true });
    }
    expect((await one.readTail("t"))?.records.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await Promise.all([one.close(), other.close()]);
  });

  test("does not bring back a thread that was removed, nor reach one that has its number now", async () => {
    const [one, other] = twoLogs();
    await grow(one, "t", 3);
    expect(await other.remove("t")).toBe("removed");
    await grow(other, "u", 3);
    const absent = { appended: false, tail: undefined, generation: undefined, occupant: undefined };
    expect(await append(one, "t", 4)).toEqual(absent);
    expect((await other.readTail("u"))?.records).toHaveLength(3);
    await grow(other, "t", 3, "second");
    expect(await append(one, "t", 4)).toMatchObject({ appended: false, generation: "second" });
    expect(await append(one, "t", 4, "second")).toEqual({ appended: true });
    expect((await other.readTail("t"))?.records).toHaveLength(4);
    await Promise.all([one.close(), other.close()]);
  });

  test("is valid after the words were indexed, by this process or another, and the new ones are found", async () => {
    const [one, other] = twoLogs();
    const words = ({ seq }: { seq: number }): string => `word${seq}`;
    await grow(one, "t", 2);
    await other.catchUp(words);
    expect(await append(one, "t", 3)).toEqual({ appended: true });
    await one.catchUp(words);
    expect(await append(one, "t", 4)).toEqual({ appended: true });
    expect(await append(one, "t", 5)).toEqual({ appended: true });
    await one.catchUp(words);
    const { hits } = await other.search(["word"], { prefix: "", limit: 9 });
    expect(hits.map(({ entry }) => entry.seq).sort()).toEqual([1, 2, 3, 4, 5]);
    await Promise.all([one.close(), other.close()]);
  });

  test("finds the thread by the metadata that it has now, also when another process changed it, and after a mark or a return", async () => {
    const [one, other] = twoLogs();
    const tag = (log: SqliteLog, seq: number, value: number | undefined): Promise<unknown> =>
      log.append("t", requestFor(recordAt(seq, { metadata: value === undefined ? undefined : `{"of":${value}}` })));
    const foundBy = async (): Promise<readonly number[]> => {
      const pages = await Promise.all([1, 2, 3].map((value) => one.queryMetadata("of", String(value), { limit: 2 })));
      return pages.flatMap(({ items }, index) => items.map(() => index + 1));
    };
    for (const [log, seq, value, expected] of [
      [one, 1, 1, [1]],
      [one, 2, 1, [1]],
      [one, 3, 2, [2]],
      [one, 4, undefined, []],
      [one, 5, undefined, []],
      [other, 6, 3, [3]],
      [one, 7, 3, [3]],
      [one, 8, 1, [1]],
    ] as const) {
      expect(await tag(log, seq, value)).toEqual({ appended: true });
      expect(await foundBy(), `record ${seq}`).toEqual(expected);
    }
    await one.append("t", requestFor(markAt(9, { head: 8 })));
    expect(await foundBy()).toEqual([1]);
    await one.append("t", requestFor(markAt(10, { head: 7 })));
    expect(await foundBy()).toEqual([3]);
    await tag(one, 11, 3);
    expect(await foundBy()).toEqual([3]);
    await Promise.all([one.close(), other.close()]);
  });

  test("holds for marks, for records with names and for edits too", async () => {
    const [one, other] = twoLogs();
    await grow(one, "t", 2);
    await one.append("t", requestFor(markAt(3)));
    await one.append("t", requestFor(recordAt(4, { names: ["n"] })));
    await append(one, "t", 5);
    await one.append("t", requestFor(recordAt(6), { drop: [1], replace: [recordAt(5, { names: ["m"] })] }));
    await append(one, "t", 7);
    expect((await other.readTail("t"))?.records.map(({ seq }) => seq)).toEqual([2, 3, 4, 5, 6, 7]);
    expect([(await other.entry("t", "n"))?.seq, (await other.entry("t", "m"))?.seq]).toEqual([4, 5]);
    await Promise.all([one.close(), other.close()]);
  });

  test("is CORRUPT, and writes nothing, whatever column of that row was damaged since", async () => {
    const database = await openDatabase(":memory:");
    const log = new SqliteLog(sqliteLogOptions({ database }));
    await grow(log, "t", 3);
    const rows = (): unknown => database.prepare("SELECT count(*) AS n FROM holdfast_records").get();
    for (const change of ["tail = 2", "head = 2", "indexed = 1", "stale = 0", "sum = sum + 1", "generation = 'x'"]) {
      database.exec(`UPDATE holdfast_threads SET ${change}`);
      expect(await failureOf(() => append(log, "t", 4)), change).toMatchObject({ code: "CORRUPT" });
      expect(rows(), change).toMatchObject({ n: 3 });
      database.exec("UPDATE holdfast_threads SET tail = 3, head = 3, indexed = 0, stale = 1, generation = 'first'");
      if (change.startsWith("sum")) database.exec("UPDATE holdfast_threads SET sum = sum - 1");
    }
    expect(await append(log, "t", 4)).toEqual({ appended: true });
    await log.close();
    database.close();
  });
});

describe("a write in one statement", () => {
  let path: string;
  let handle: SqliteHandle;
  const groups = new WriteGroups<SqliteDatabase>();
  const soon = (): number => performance.now() + 60_000;
  const count = (): number => (handle.database.prepare("SELECT count(*) AS n FROM items").get() as { n: number }).n;
  const add = (value: string | null): ((database: SqliteDatabase) => string) => {
    return (database) => {
      database.prepare("INSERT INTO items VALUES (?)").run(value);
      return value ?? "";
    };
  };
  const never = (): string => {
    throw new Error("it was done in one statement");
  };

  beforeEach(async () => {
    path = freshPath();
    const settings = { path, database: undefined, busyTimeoutMs: 10, secureDelete: true, access: "write" };
    handle = await openHandle(settings as Parameters<typeof openHandle>[0]);
    handle.database.exec("CREATE TABLE items (value TEXT NOT NULL)");
  });

  const opened = () => ({ handle, statements: handle.database, assertCurrent: () => undefined });

  test("that is alone commits itself", async () => {
    const written = groups.add(never, soon(), add("one"));
    groups.commit(opened());
    expect(await written).toBe("one");
    expect(count()).toBe(1);
    handle.close();
  });

  test("that fails rejects its own caller, and those after it continue", async () => {
    const failed = groups.add(never, soon(), add(null));
    groups.commit(opened());
    await expect(failed).rejects.toThrow(/NOT NULL/);
    expect(groups.waiting.length).toBe(0);
    const written = groups.add(never, soon(), add("two"));
    groups.commit(opened());
    expect(await written).toBe("two");
    handle.close();
  });

  test("that fails among others undoes none of them", async () => {
    const results = Promise.allSettled([
      groups.add(add("one"), soon()),
      groups.add(never, soon(), add(null)),
      groups.add(never, soon(), add("three")),
      groups.add(add("four"), soon(), () => undefined),
    ]);
    while (groups.waiting.length > 0) groups.commit(opened());
    expect((await results).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(count()).toBe(3);
    handle.close();
  });

  test("waits while another connection has the lock, and is not made before", async () => {
    const other = await openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    const written = groups.add(never, soon(), add("late"));
    expect(() => groups.commit(opened())).toThrow(/locked/);
    expect(groups.waiting.length).toBe(1);
    other.exec("ROLLBACK");
    groups.commit(opened());
    expect(await written).toBe("late");
    other.close();
    handle.close();
  });
});
