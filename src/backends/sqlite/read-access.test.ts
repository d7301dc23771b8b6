import { utimesSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { readingCalls } from "../../../test/read-access/every-method.ts";
import { fillStore } from "../../../test/read-access/fill-store.ts";
import { hashedFiles } from "../../../test/read-access/hashed-files.ts";
import { type ObservedStore, testReadAccess } from "../../../test/read-access/proof.ts";
import { withoutWritePermission } from "../../../test/read-access/without-write-permission.ts";
import { assertMigrated } from "../../driver/migrations.ts";
import { StateError } from "../../errors.ts";
import { conversation } from "../../testing/checkpointer-cases/conversations.ts";
import { openCheckpointer } from "../open.ts";
import { isBusy } from "./classify.ts";
import { Connection } from "./connection.ts";
import { sqliteCheckpointer, sqliteConnection } from "./index.ts";
import { tableNames } from "./layout.ts";
import { openForLooking } from "./looking-database.ts";
import { openDatabase } from "./open-file.ts";
import { checkpoints } from "./parts.ts";
import { migratedStore } from "./prepare-tables.ts";

const folder = (): Promise<string> => mkdtemp(join(tmpdir(), "holdfast-sqlite-read-"));

/** The shared-memory file belongs to the processes; everything else is stored data. */
const isStored = (name: string): boolean => !name.endsWith("-shm");

async function observed(prepare: (root: string) => Promise<unknown> = async () => undefined): Promise<ObservedStore> {
  const root = await folder();
  await prepare(root);
  return {
    open: (options) => sqliteCheckpointer({ ...options, path: join(root, "a.db") }),
    contents: () => hashedFiles(root, isStored),
    // The write-ahead log is truncated up to a second after the last deletion. Timers fire in the order in which they are due.
    settled: () => sleep(1_200),
    cleanup: () => rm(root, { recursive: true }),
  };
}

testReadAccess({ name: "SQLite", create: observed, missing: observed });

testReadAccess({
  name: "SQLite with a rollback journal",
  create: async () => {
    const root = await folder();
    const database = await openDatabase(join(root, "a.db"));
    database.exec("PRAGMA journal_mode = DELETE");
    return {
      // A caller's connection keeps its journal mode.
      open: (options) =>
        sqliteCheckpointer({
          ...options,
          ...(options.access === "read" ? { path: join(root, "a.db") } : { database }),
        }),
      contents: () => hashedFiles(root, isStored),
      cleanup: async () => {
        database.close();
        await rm(root, { recursive: true });
      },
    };
  },
  missing: () => observed((root) => writeFile(join(root, "a.db"), "")),
});

test("a reader without a writer creates no file, and notices a writer that comes and goes", async () => {
  const root = await folder();
  const path = join(root, "a.db");
  const first = sqliteCheckpointer({ path });
  await first.save(conversation(1), "t", { expectedHead: null });
  await first.close();
  const reader = await openCheckpointer(`sqlite:${path}`, { access: "read" });
  expect((await reader.load("t"))?.messages).toHaveLength(1);
  expect(await readdir(root)).toEqual(["a.db"]);
  for (let messages = 2; messages <= 6; messages++) {
    const writer = sqliteCheckpointer({ path });
    const state = await writer.load("t");
    await writer.save((state ?? conversation(0)).withMessages(conversation(messages).messages), "t");
    // The writer is still open in one round, and closed in the next.
    if (messages % 2 === 0) await writer.close();
    expect((await reader.load("t"))?.messages.length).toBe((await reader.stats("t"))?.messages);
    expect((await reader.listCheckpoints("t", 10)).length).toBe(messages);
    await writer.close();
  }
  await reader.close();
  await rm(root, { recursive: true });
});

for (const writerIs of ["open", "closed"] as const) {
  test(`a writer saves, deletes and closes while a reader is in the middle of a transaction that found it ${writerIs}`, async () => {
    const root = await folder();
    const path = join(root, "a.db");
    const first = await openAndClose(path);
    if (writerIs === "closed") await first.close();
    const looking = await untilNotBusy(() => openForLooking(path));
    const [begin, count, commit] = ["BEGIN DEFERRED", "SELECT count(*) AS n FROM holdfast_records", "COMMIT"].map(
      (sql) => looking.prepare(sql),
    );
    await untilNotBusy(async () => begin?.run());
    expect(count?.get()).toMatchObject({ n: 1 });
    // It would wait no longer than this for any lock.
    const writer = sqliteCheckpointer({ path, busyTimeoutMs: 1, retry: { attempts: 1 } });
    await writer.save(conversation(3), "other", { expectedHead: null });
    await writer.delete("other");
    await writer.save(conversation(3), "another", { expectedHead: null });
    await writer.close();
    expect(count?.get()).toMatchObject({ n: 1 });
    // Beside an open writer, the reader has a snapshot. What was read without a lock is discarded if the file changed.
    if (writerIs === "open") commit?.run();
    else expect(() => commit?.run()).toThrow("was written a moment ago");
    await untilNotBusy(async () => begin?.run());
    expect(count?.get()).toMatchObject({ n: 2 });
    commit?.run();
    looking.close();
    await first.close();
    await rm(root, { recursive: true });
  });
}

test("damage in a file that changed while it was read is ignored; in an unchanged file it is reported", async () => {
  const root = await folder();
  const path = join(root, "a.db");
  await (await openAndClose(path)).close();
  const prepared = async () => ({ statements: undefined, assertCurrent: () => undefined });
  const connection = new Connection(sqliteConnection({ path, access: "read" }), prepared);
  let attempts = 0;
  const torn = (): never => {
    throw new StateError("CORRUPT", "half of one page and half of another");
  };
  const read = connection.read(() => {
    if (++attempts > 1) return "whole";
    // Like a writer's checkpoint between two pages.
    utimesSync(path, new Date(), new Date());
    return torn();
  });
  expect([await read, attempts]).toEqual(["whole", 2]);
  expect((await failureOf(() => connection.read(torn))).code).toBe("CORRUPT");
  await connection.close();
  await rm(root, { recursive: true });
});

test("a file in a folder that cannot be written is read, by every kind of call", async () => {
  const root = await folder();
  const path = join(root, "a.db");
  const writer = sqliteCheckpointer({ path });
  const filled = await fillStore(writer);
  await writer.close();
  const reader = sqliteCheckpointer({ path, access: "read" });
  await withoutWritePermission(root, async () => {
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    expect((await reader.load("long"))?.messages).toHaveLength(70);
  });
  expect(await readdir(root)).toEqual(["a.db"]);
  await reader.close();
  await rm(root, { recursive: true });
});

test("what a writer that died left in the write-ahead log is read, and stays there", async () => {
  const root = await folder();
  const writer = sqliteCheckpointer({ path: join(root, "a.db") });
  await fillStore(writer);
  const copy = join(root, "copy");
  await mkdir(copy);
  for (const name of ["a.db", "a.db-wal"]) await copyFile(join(root, name), join(copy, name));
  await writer.close();
  const before = await hashedFiles(copy, isStored);
  expect(Object.keys(before)).toEqual(["a.db", "a.db-wal"]);
  const reader = sqliteCheckpointer({ path: join(copy, "a.db"), access: "read" });
  expect((await reader.load("long"))?.messages).toHaveLength(70);
  await reader.close();
  expect(await hashedFiles(copy, isStored)).toEqual(before);
  await rm(root, { recursive: true });
});

test("a part without tables is NOT_FOUND, tables of a newer version are INCOMPATIBLE, and both stay as they are", async () => {
  const root = await folder();
  const path = join(root, "a.db");
  await (await openAndClose(path)).close();
  for (const [version, words] of [
    [0, "there is no store here"],
    [99, "Upgrade holdfast"],
  ] as const) {
    const database = await openDatabase(path);
    database.exec(`UPDATE holdfast_schema SET version = ${version} WHERE part = 'checkpoints'`);
    database.close();
    const before = await hashedFiles(root, isStored);
    const failure = await failureOf(() => sqliteCheckpointer({ path, access: "read" }).connect());
    expect([failure.code, failure.message]).toEqual([
      version === 0 ? "NOT_FOUND" : "INCOMPATIBLE",
      expect.stringContaining(words),
    ]);
    expect(await hashedFiles(root, isStored)).toEqual(before);
  }
  await rm(root, { recursive: true });
});

test("tables of an older version are reported, with how to migrate them, and are not migrated", async () => {
  const root = await folder();
  const path = join(root, "a.db");
  await (await openAndClose(path)).close();
  const names = tableNames("holdfast_");
  const next = { ...checkpoints(names), migrations: [...checkpoints(names).migrations, ["CREATE TABLE added (a)"]] };
  const before = await hashedFiles(root, isStored);
  const database = await untilNotBusy(() => openForLooking(path));
  const store = migratedStore(database, names, true);
  const failure = await failureOf(() => untilNotBusy(() => assertMigrated(store, [next], path)));
  expect(failure.code).toBe("INCOMPATIBLE");
  expect(failure.message).toContain('the tables of "checkpoints" have version 1 and need 2');
  expect(failure.message).toContain("sqliteDdl(");
  database.close();
  expect(await hashedFiles(root, isStored)).toEqual(before);
  await rm(root, { recursive: true });
});

test("a database in memory has nothing to read, and a connection opened for reading makes every facet read", async () => {
  expect((await failureOf(() => sqliteCheckpointer({ path: ":memory:", access: "read" }).load("t"))).code).toBe(
    "NOT_FOUND",
  );
  const root = await folder();
  const path = join(root, "a.db");
  await (await openAndClose(path)).close();
  const connection = sqliteConnection({ path, access: "read" });
  const reader = sqliteCheckpointer({ connection });
  expect((await reader.load("t"))?.messages).toHaveLength(1);
  expect((await failureOf(() => reader.delete("t"))).code).toBe("PERMISSION_DENIED");
  expect((await failureOf(() => sqliteCheckpointer({ connection, access: "write" }))).code).toBe("INVALID_ARGUMENT");
  await reader.close();
  await rm(root, { recursive: true });
});

test("a connection that was handed in is only read, and makes no tables", async () => {
  const database = await openDatabase(":memory:");
  const reader = sqliteCheckpointer({ database, access: "read" });
  expect((await failureOf(() => reader.load("t"))).code).toBe("NOT_FOUND");
  expect(database.prepare("SELECT name FROM sqlite_master").all()).toEqual([]);
  const writer = sqliteCheckpointer({ database });
  await writer.save(conversation(1), "t", { expectedHead: null });
  const { changes } = database.prepare("SELECT total_changes() AS changes").get() as { changes: number };
  expect((await reader.load("t"))?.messages).toHaveLength(1);
  expect((await reader.search("message")).length).toBe(1);
  expect(database.prepare("SELECT total_changes() AS changes").get()).toEqual({ changes });
  database.close();
});

async function openAndClose(path: string): Promise<ReturnType<typeof sqliteCheckpointer>> {
  const writer = sqliteCheckpointer({ path });
  await writer.save(conversation(1), "t", { expectedHead: null });
  return writer;
}

/** A file that was written within the last clock step reports "busy": retry a little later. */
async function untilNotBusy<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || attempt === 5_000) throw error;
      await sleep(10);
    }
  }
}
