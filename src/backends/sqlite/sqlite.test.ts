import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { hintedSeq } from "../../driver/ids.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import type { SqliteDatabase } from "./connect.ts";
import { sqliteCheckpointer, sqliteDdl } from "./index.ts";
import { tableNames } from "./layout.ts";
import { configure, isAtLeast, openDatabase } from "./open-file.ts";
import { checkpoints } from "./parts.ts";
import { prepareTables } from "./prepare-tables.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const freshPath = (): string => join(folder, `${++files}.db`);

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

test("a commit is synced: the connection writes ahead and syncs in full", async () => {
  const database = await openDatabase(freshPath());
  configure(database);
  expect(database.prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "wal" });
  expect(database.prepare("PRAGMA synchronous").get()).toMatchObject({ synchronous: 2 });
  database.close();
});

test("versions before the WAL repair are told from those after it", () => {
  expect(isAtLeast("3.51.3", [3, 51, 3])).toBe(true);
  expect(isAtLeast("3.53", [3, 51, 3])).toBe(true);
  expect(isAtLeast("3.51.2", [3, 51, 3])).toBe(false);
  expect(isAtLeast("3.9.12", [3, 51, 3])).toBe(false);
});

test("a handed-in connection stays open, and its own settings decide how durable it is", async () => {
  const path = freshPath();
  const database = await openDatabase(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  const checkpointer = sqliteCheckpointer({ database });
  expect(checkpointer.capabilities.durability).toBe("os");
  await checkpointer.save(said("hello"), "t1");
  await checkpointer.close();
  expect(database.prepare("SELECT count(*) AS n FROM holdfast_threads").get()).toMatchObject({ n: 1 });
  database.exec("PRAGMA synchronous = FULL");
  expect(sqliteCheckpointer({ database }).capabilities.durability).toBe("fsync");
  database.close();
  expect(sqliteCheckpointer({ path: ":memory:" }).capabilities.durability).toBe("memory");
});

test("a save that was retried behind another writer's record is found by its id, in its thread and in a copy", async () => {
  const path = freshPath();
  await using one = sqliteCheckpointer({ path });
  await using other = sqliteCheckpointer({ path });
  const first = said("one");
  const oldest = await one.save(first, "t");
  const second = first.withMessage(userMessage("two"));
  await one.save(second, "t");
  expect(await other.delete("t", { checkpointId: oldest })).toBe(true);
  const late = await one.save(second.withMessage(userMessage("three")), "t");
  expect(hintedSeq(late), "it was made for the place of the other's record").toBe(3);
  await other.copyThread("t", "copy");
  for (const thread of ["t", "copy"]) {
    expect((await other.load(thread, { checkpointId: late }))?.messages).toHaveLength(3);
    expect(await other.load(thread, { checkpointId: oldest })).toBeUndefined();
  }
});

test("tables that the deployment made from sqliteDdl() are used as they are", async () => {
  const path = freshPath();
  const database = await openDatabase(path);
  for (const statement of sqliteDdl("agents_")) database.exec(statement);
  database.close();
  await using checkpointer = sqliteCheckpointer({ path, tablePrefix: "agents_" });
  await checkpointer.save(said("hello"), "t1");
  expect(await checkpointer.listThreads()).toEqual(["t1"]);
});

test("sqliteDdl() is exactly what is executed, in order", async () => {
  const database = await openDatabase(freshPath());
  const executed: string[] = [];
  const observed: SqliteDatabase = {
    exec: (text) => {
      executed.push(text);
      return database.exec(text);
    },
    prepare: (text) => database.prepare(text),
    close: () => database.close(),
  };
  await sqliteCheckpointer({ database: observed }).listThreads();
  expect(executed).toEqual(["BEGIN IMMEDIATE", ...sqliteDdl("holdfast_", { parts: ["checkpoints"] }), "COMMIT"]);
  expect(sqliteDdl("holdfast_", { from: { checkpoints: 1, store: 1 } })).toEqual([]);
  expect(() => sqliteDdl("holdfast_", { from: { stores: 1 } })).toThrow(/no part "stores"; known: checkpoints, store/);
  expect(() => sqliteDdl("holdfast_", { parts: ["stores"] })).toThrow(/no part "stores"; known: checkpoints, store/);
  database.close();
});

test("tables that are not there are not created in a file that can only be read, and the error says what to do", async () => {
  const path = freshPath();
  const database = await openDatabase(path);
  database.exec("CREATE TABLE own (id INTEGER)");
  const before = await readFile(path);
  const names = tableNames("holdfast_");
  const failure = await failureOf(() =>
    prepareTables({ database, isReadOnly: true, access: "write" }, names, checkpoints(names)),
  );
  expect(failure.code).toBe("PERMISSION_DENIED");
  expect(failure.message).toMatch(/^the tables of "checkpoints" are not there, .*sqliteDdl\(\)/);
  expect(failure.message).toContain(JSON.stringify(path));
  expect(await readFile(path)).toEqual(before);
  database.close();
});

test("two table prefixes are two stores in one file", async () => {
  const path = freshPath();
  await using a = sqliteCheckpointer({ path, tablePrefix: "a_" });
  await using b = sqliteCheckpointer({ path, tablePrefix: "b_" });
  await a.save(said("of a"), "t1");
  expect(await b.load("t1")).toBeUndefined();
});

test("tables of a newer version are refused and left alone", async () => {
  const path = freshPath();
  await using first = sqliteCheckpointer({ path });
  await first.save(said("hello"), "t1");
  const database = await openDatabase(path);
  database.exec("UPDATE holdfast_schema SET version = 99");
  await using second = sqliteCheckpointer({ path });
  await expect(second.load("t1")).rejects.toMatchObject({ code: "INCOMPATIBLE" });
  database.close();
});

test("eight first uses at once make the tables once", async () => {
  const path = freshPath();
  const checkpointers = Array.from({ length: 8 }, () => sqliteCheckpointer({ path }));
  await Promise.all(checkpointers.map((checkpointer, index) => checkpointer.save(said("hello"), `t${index}`)));
  expect(await checkpointers[0]?.listThreads()).toHaveLength(8);
  await Promise.all(checkpointers.map((checkpointer) => checkpointer.close()));
});

test("a save waits while another process holds the write lock, and gives up as UNAVAILABLE", async () => {
  const path = freshPath();
  await using checkpointer = sqliteCheckpointer({ path, busyTimeoutMs: 60, retry: { attempts: 1 } });
  await checkpointer.save(said("hello"), "t1");
  const other = await openDatabase(path);
  other.exec("BEGIN IMMEDIATE");
  await expect(checkpointer.save(said("hello"), "t2")).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  other.exec("COMMIT");
  other.close();
  await checkpointer.save(said("hello"), "t2");
});

test("a file that is not a database is reported as corrupt, never read as empty", async () => {
  const path = freshPath();
  await writeFile(
    path,
    "this is not a database, and it is longer than one hundred bytes so that SQLite looks at its header.",
  );
  await using checkpointer = sqliteCheckpointer({ path });
  await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "CORRUPT" });
  await expect(checkpointer.save(said("hello"), "t1")).rejects.toMatchObject({ code: "CORRUPT" });
  expect((await readFile(path, "utf8")).startsWith("this is not")).toBe(true);
});

test("a flipped byte in a stored record is found by its checksum; other threads still load", async () => {
  const path = freshPath();
  await using checkpointer = sqliteCheckpointer({ path, cacheBytes: 0 });
  await checkpointer.save(said("the first thread"), "t1");
  await checkpointer.save(said("the other thread"), "t2");
  const database = await openDatabase(path);
  database.exec("UPDATE holdfast_records SET body = CAST(replace(CAST(body AS TEXT), 'first', 'worst') AS BLOB)");
  database.close();
  await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "CORRUPT", context: { threadId: "t1" } });
  expect((await checkpointer.load("t2"))?.messages).toHaveLength(1);
});

test("a missing folder is reported, and nothing is created", async () => {
  const path = join(folder, "missing", "a.db");
  await using checkpointer = sqliteCheckpointer({ path });
  await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(existsSync(join(folder, "missing"))).toBe(false);
});

test.skipIf(process.getuid?.() === 0)(
  "a file without write permission refuses saves as PERMISSION_DENIED",
  async () => {
    const path = freshPath();
    const first = sqliteCheckpointer({ path });
    await first.save(said("hello"), "t1");
    await first.close();
    await chmod(path, 0o444);
    await using second = sqliteCheckpointer({ path });
    await expect(second.save(said("hello"), "t2")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  },
);

test("a misspelt or mistyped option is refused with the name that was meant", () => {
  expect(() => sqliteCheckpointer({ pth: "a.db" } as never)).toThrow(/no option "pth"; did you mean "path"\?/);
  expect(() => sqliteCheckpointer({ path: 7 } as never)).toThrow(/path must be a string/);
  expect(() => sqliteCheckpointer({ tablePrefix: "x; DROP TABLE y" })).toThrow(/tablePrefix/);
});

test("saves leave the index alone; a search catches up and indexes each message once", async () => {
  const path = freshPath();
  await using checkpointer = sqliteCheckpointer({ path });
  let state = AgentState.create();
  for (let step = 0; step < 10; step++) {
    state = state.withMessage(userMessage(`word${step} everywhere`));
    await checkpointer.save(state, "t1");
  }
  const database = await openDatabase(path);
  const indexed = (): unknown => database.prepare("SELECT count(*) AS n FROM holdfast_indexed").get();
  expect(indexed()).toMatchObject({ n: 0 });
  expect(await checkpointer.search("everywhere", { limit: 100 })).toHaveLength(10);
  expect(indexed()).toMatchObject({ n: 10 });
  expect(await checkpointer.search("word7")).toHaveLength(1);
  expect(indexed()).toMatchObject({ n: 10 });
  database.close();
});

test("deleting a thread leaves no row of it in any table", async () => {
  const path = freshPath();
  await using checkpointer = sqliteCheckpointer({ path });
  await checkpointer.save(said("secret canary"), "t1");
  await checkpointer.search("canary");
  await checkpointer.delete("t1");
  const database = await openDatabase(path);
  for (const table of ["threads", "records", "indexed"]) {
    expect(database.prepare(`SELECT count(*) AS n FROM holdfast_${table}`).get()).toMatchObject({ n: 0 });
  }
  database.close();
});

test("a damaged record is an error when loaded, and does not keep others from being found", async () => {
  const path = freshPath();
  await using checkpointer = sqliteCheckpointer({ path, cacheBytes: 0 });
  await checkpointer.save(said("apple"), "whole");
  await checkpointer.save(said("apple"), "damaged");
  const database = await openDatabase(path);
  database.exec(
    "UPDATE holdfast_records SET body = CAST('x' AS BLOB) WHERE id / 67108864 = (SELECT thread_no FROM holdfast_threads WHERE thread_id = 'damaged')",
  );
  database.close();
  expect((await checkpointer.search("apple")).map(({ threadId }) => threadId)).toEqual(["whole"]);
  await expect(checkpointer.load("damaged")).rejects.toMatchObject({ code: "CORRUPT" });
});
