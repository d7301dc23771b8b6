import { chmod, mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { AT_ONCE_MS, endingOf } from "../../../test/ending.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import type { SqliteStatement } from "./connect.ts";
import { Connection } from "./connection.ts";
import { type SqliteConnection, sqliteCheckpointer, sqliteConnection } from "./index.ts";
import { tableNames } from "./layout.ts";
import { openDatabase } from "./open-file.ts";
import { prepareTables } from "./prepare-tables.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-connection-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const freshPath = (): string => join(folder, `${++files}.db`);

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

/** A second facet, as small as possible: texts in a table of its own, in a part of its own. */
class Notes {
  readonly #connection: Connection<{ readonly insert: SqliteStatement; readonly all: SqliteStatement }>;

  constructor(connection: SqliteConnection) {
    const part = { name: "notes", migrations: [["CREATE TABLE holdfast_notes (note TEXT)"]] };
    this.#connection = new Connection(connection, async (handle) => {
      const { database } = handle;
      const assertCurrent = await prepareTables(handle, tableNames("holdfast_"), part);
      const statements = {
        insert: database.prepare("INSERT INTO holdfast_notes (note) VALUES (?)"),
        all: database.prepare("SELECT note FROM holdfast_notes ORDER BY note"),
      };
      return { statements, assertCurrent };
    });
  }

  add(note: string): Promise<unknown> {
    return this.#connection.write(({ insert }) => insert.run(note));
  }

  all(): Promise<readonly unknown[]> {
    return this.#connection.read(({ all }) => all.all().map((row) => (row as { note: string }).note));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

function both(options: Parameters<typeof sqliteConnection>[0]) {
  const connection = sqliteConnection(options);
  return { connection, checkpointer: sqliteCheckpointer({ connection }), notes: new Notes(connection) };
}

/** How often this process has the file open. */
async function handlesOn(path: string): Promise<number> {
  const open = await readdir("/proc/self/fd");
  const targets = await Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
  return targets.filter((target) => target === path).length;
}

describe("a log and a second facet over one connection", () => {
  test("work in one database, each with its own part of the tables", async () => {
    const { checkpointer, notes } = both({ path: ":memory:" });
    const calls = Array.from({ length: 10 }, (_, index) => [
      checkpointer.save(said(`${index}`), `t${index}`),
      notes.add(`${index}`),
    ]);
    await Promise.all(calls.flat());
    expect(await notes.all()).toHaveLength(10);
    expect(await checkpointer.listThreads()).toHaveLength(10);
    expect(checkpointer.capabilities.durability).toBe("memory");
    await Promise.all([checkpointer.close(), notes.close()]);
  });

  test.runIf(process.platform === "linux")("have the file open once, until the last one is closed", async () => {
    for (const order of ["log first", "log last"]) {
      const path = freshPath();
      const { checkpointer, notes } = both({ path });
      await Promise.all([checkpointer.save(said("hello"), "t1"), notes.add("a")]);
      expect(await handlesOn(path)).toBe(1);
      const [first, last] = order === "log first" ? [checkpointer, notes] : [notes, checkpointer];
      await first.close();
      expect(await handlesOn(path)).toBe(1);
      if (last === notes) expect(await notes.all()).toEqual(["a"]);
      else expect((await checkpointer.load("t1"))?.messages).toHaveLength(1);
      await last.close();
      expect(await handlesOn(path)).toBe(0);
      await expect(notes.all()).rejects.toMatchObject({ code: "CLOSED" });
      await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "CLOSED" });
    }
  });

  test("an in-memory database exists as long as any facet holds the connection, used or not", async () => {
    const { connection, checkpointer, notes } = both({ path: ":memory:" });
    const unused = sqliteCheckpointer({ connection });
    await checkpointer.save(said("hello"), "t1");
    await Promise.all([checkpointer.close(), notes.close()]);
    expect((await unused.load("t1"))?.messages).toHaveLength(1);
    await unused.close();
    const later = sqliteCheckpointer({ connection });
    expect(await later.load("t1")).toBeUndefined();
    await later.close();
  });

  test("calls in progress are not disturbed when the other facet closes", async () => {
    const { checkpointer, notes } = both({ path: freshPath() });
    await checkpointer.save(said("hello"), "t1");
    const adding = Array.from({ length: 20 }, (_, index) => notes.add(`${index}`));
    await checkpointer.close();
    await Promise.all(adding);
    expect(await notes.all()).toHaveLength(20);
    await notes.close();
  });

  test("a file that is not a database is refused to both, and opened once it is one", async () => {
    const path = freshPath();
    await writeFile(path, "this is a text file and no database".repeat(100));
    const { checkpointer, notes } = both({ path });
    await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "CORRUPT" });
    await expect(notes.all()).rejects.toMatchObject({ code: "CORRUPT" });
    await rm(path);
    await Promise.all([checkpointer.save(said("hello"), "t1"), notes.add("a")]);
    expect(await notes.all()).toEqual(["a"]);
    await Promise.all([checkpointer.close(), notes.close()]);
  });

  test.skipIf(process.getuid?.() === 0)(
    "a file that could only be read is opened anew once it can be written",
    async () => {
      const path = freshPath();
      (await openDatabase(path)).close();
      await chmod(path, 0o400);
      const { checkpointer, notes } = both({ path });
      await expect(checkpointer.save(said("hello"), "t1")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
      await chmod(path, 0o600);
      await checkpointer.save(said("hello"), "t1");
      await Promise.all([checkpointer.close(), notes.close()]);
    },
  );

  test("a database that was handed in survives both", async () => {
    const database = await openDatabase(freshPath());
    const { checkpointer, notes } = both({ database });
    await Promise.all([checkpointer.save(said("hello"), "t1"), notes.add("a")]);
    await notes.close();
    await checkpointer.close();
    expect(database.prepare("SELECT count(*) AS n FROM holdfast_notes").get()).toMatchObject({ n: 1 });
    database.close();
  });
});

test("a program that closes no facet of a shared connection still ends by itself", async () => {
  const { code, said: words, complaints, lingeredMs } = await endingOf("sqlite", freshPath());
  const errors = complaints.filter((text) => !text.includes("ExperimentalWarning"));
  expect({ code, words, errors }).toEqual({ code: 0, words: ["loaded", "loaded"], errors: [] });
  expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
});

test("options that belong to the connection are refused beside one, and so is a value that is not a connection", async () => {
  const connection = sqliteConnection({ path: ":memory:" });
  expect(() => sqliteCheckpointer({ connection, path: "a.db" })).toThrow(
    /path is the connection's own; .* sqliteConnec/,
  );
  const database = await openDatabase(":memory:");
  expect(() => sqliteCheckpointer({ connection: database as never })).toThrow(
    /must be what sqliteConnection\(\) returned/,
  );
  database.close();
  expect(() => sqliteConnection({ path: "a.db", tablePrefix: "a_" } as never)).toThrow(
    /sqliteConnection\(\).*tablePrefix/,
  );
});
