import { closeSync, linkSync, openSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, symlink, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { openCheckpointer } from "../open.ts";
import type { SqliteDatabase } from "./connect.ts";
import { sqliteCheckpointer, sqliteStore } from "./index.ts";
import { openDatabase } from "./open-file.ts";

const root = await mkdtemp(join(tmpdir(), "holdfast-sqlite-place-"));
afterAll(() => rm(root, { recursive: true }));
const freshPath = async (): Promise<string> => join(await mkdtemp(join(root, "d-")), "a.db");
const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
/** A file that is gone stays gone: nothing is gained by waiting for it. */
const retry = { attempts: 1 };

/** What people do to a database that is open. */
const MISTAKES: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  removed: (path) => unlink(path),
  renamed: (path) => rename(path, `${path}.old`),
  "replaced by a backup": async (path) => {
    await copyFile(path, `${path}.backup`);
    await rename(`${path}.backup`, path);
  },
  "left without its write-ahead log": (path) => unlink(`${path}-wal`),
  "left without its shared memory": (path) => unlink(`${path}-shm`),
  "moved with its folder": async (path) => {
    await rename(dirname(path), `${dirname(path)}-moved`);
    await mkdir(dirname(path));
  },
};

describe("a database that is open and is", () => {
  test.each(Object.keys(MISTAKES))(
    "%s acknowledges no save and no put, and says that nothing was written",
    async (mistake) => {
      const path = await freshPath();
      const checkpointer = sqliteCheckpointer({ path, retry });
      const store = sqliteStore({ path, retry });
      const saved = await checkpointer.save(said("hello"), "t");
      await checkpointer.save(said("again"), "t", { expectedHead: saved });
      await store.put(["n"], "k", { v: 1 });
      await MISTAKES[mistake]?.(path);
      for (const write of [
        () => checkpointer.save(said("more"), "t"),
        () => checkpointer.save(said("other"), "u"),
        () => Promise.all(["v", "w", "x"].map((thread) => checkpointer.save(said("together"), thread))),
        () => checkpointer.delete("t"),
        () => store.put(["n"], "k", { v: 2 }),
      ]) {
        const failure = await failureOf(write);
        expect(failure).toMatchObject({ code: "UNAVAILABLE" });
        expect(failure.message).toContain("was removed, renamed or replaced while it was open");
        expect(failure.message).toContain("restart this process");
      }
      expect(await failureOf(() => checkpointer.save(said("more"), "t"))).toMatchObject({ context: { written: "no" } });
      await checkpointer.close();
      await store.close();
    },
  );

  test("removed is not read as it was, either", async () => {
    const path = await freshPath();
    await using checkpointer = sqliteCheckpointer({ path, retry });
    await checkpointer.save(said("hello"), "t");
    await unlink(path);
    const end = performance.now() + 5_000;
    let failure: unknown;
    while (failure === undefined && performance.now() < end) {
      failure = await checkpointer.load("t").then(
        () => undefined,
        (error: unknown) => error,
      );
    }
    expect(failure).toMatchObject({ code: "UNAVAILABLE" });
  });

  test("put back in its place works on, and has what was saved before and after", async () => {
    const path = await freshPath();
    await using checkpointer = sqliteCheckpointer({ path, retry });
    await checkpointer.save(said("hello"), "t");
    await rename(path, `${path}.away`);
    await failureOf(() => checkpointer.save(said("more"), "u"));
    await rename(`${path}.away`, path);
    await checkpointer.save(said("more"), "u");
    expect(await checkpointer.listThreads()).toEqual(["t", "u"]);
  });

  test("replaced is read by a reader as the new file", async () => {
    const path = await freshPath();
    const other = await freshPath();
    for (const [file, text] of [
      [path, "one"],
      [other, "two"],
    ] as const) {
      await using checkpointer = sqliteCheckpointer({ path: file });
      await checkpointer.save(said(text), "t");
    }
    const writer = sqliteCheckpointer({ path });
    await writer.load("t");
    await using reader = await openCheckpointer(`sqlite:${path}`, { access: "read" });
    expect((await reader.load("t"))?.messages[0]?.content).toBe("one");
    await writer.close();
    await rename(other, path);
    expect((await reader.load("t"))?.messages[0]?.content).toBe("two");
  });

  test("a connection that was handed in is refused in the same way", async () => {
    const path = await freshPath();
    const database = await openDatabase(path);
    await using checkpointer = sqliteCheckpointer({ database, retry });
    await checkpointer.save(said("hello"), "t");
    await unlink(path);
    expect(await failureOf(() => checkpointer.save(said("more"), "t"))).toMatchObject({ code: "UNAVAILABLE" });
    database.close();
  });
});

/** A connection that says it is of another copy of SQLite. */
const ofAnotherCopy = (database: SqliteDatabase): SqliteDatabase => ({
  exec: (sql) => database.exec(sql),
  prepare: (sql) => database.prepare(sql.replace("sqlite_source_id()", "'another'")),
  close: () => database.close(),
});

test("a process that opens one file with two copies of SQLite gets an error, whichever comes first, and may use either alone", async () => {
  const path = await freshPath();
  const database = await openDatabase(path);
  const own = ofAnotherCopy(database);
  {
    await using first = sqliteCheckpointer({ database: own });
    await first.save(said("hello"), "t");
    for (const access of ["write", "read"] as const) {
      await using second = sqliteCheckpointer({ path, access });
      const failure = await failureOf(() => second.load("t"));
      expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", context: { location: path } });
      expect(failure.message).toContain("another copy of SQLite");
    }
  }
  {
    await using first = sqliteCheckpointer({ path });
    expect(await first.listThreads()).toEqual(["t"]);
    await using second = sqliteCheckpointer({ database: own });
    expect(await failureOf(() => second.load("t"))).toMatchObject({ code: "INVALID_ARGUMENT" });
  }
  database.close();
});

describe("names of a file", () => {
  test("symbolic links and the file itself are one database with one write-ahead log, for writers and for readers", async () => {
    const path = await freshPath();
    const link = join(dirname(path), "link.db");
    await symlink(path, link);
    await using throughLink = sqliteCheckpointer({ path: link });
    await throughLink.save(said("hello"), "t");
    await using direct = sqliteCheckpointer({ path });
    await direct.save(said("more"), "u");
    await using reader = await openCheckpointer(`sqlite:${link}`, { access: "read" });
    expect(await reader.listThreads()).toEqual(["t", "u"]);
    expect((await readdir(dirname(path))).sort()).toEqual(["a.db", "a.db-shm", "a.db-wal", "link.db"]);
  });

  test("a second hard link is INVALID_ARGUMENT for writers and for readers, until it is gone", async () => {
    const path = await freshPath();
    const second = join(dirname(path), "b.db");
    {
      await using checkpointer = sqliteCheckpointer({ path });
      await checkpointer.save(said("hello"), "t");
    }
    linkSync(path, second);
    for (const access of ["write", "read"] as const) {
      await using checkpointer = await openCheckpointer(`sqlite:${second}`, { access });
      const failure = await failureOf(() => checkpointer.load("t"));
      expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", context: { location: second } });
      expect(failure.message).toMatch(/one of 2 names of the same file.*Remove the other names, or make a copy/);
    }
    await unlink(path);
    await using checkpointer = sqliteCheckpointer({ path: second });
    expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
  });

  test("a name that a killed process left of a new file is removed", async () => {
    const path = await freshPath();
    const draft = join(dirname(path), ".holdfast-new-1");
    closeSync(openSync(draft, "wx", 0o600));
    linkSync(draft, path);
    await using checkpointer = sqliteCheckpointer({ path });
    await checkpointer.save(said("hello"), "t");
    expect((await readdir(dirname(path))).sort()).toEqual(["a.db", "a.db-shm", "a.db-wal"]);
  });
});
