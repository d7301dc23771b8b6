import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { sqliteCheckpointer } from "./index.ts";
import { openDatabase } from "./open-file.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-opening-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const freshPath = (): string => join(folder, `${++files}.db`);
const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Prints each call's result, or the code and message of its error. */
const PROGRAM = `
  const { sqliteCheckpointer } = await import("./src/backends/sqlite/index.ts");
  const { AgentState, userMessage } = await import("./src/index.ts");
  const [path, ...calls] = process.argv.slice(1);
  const checkpointer = sqliteCheckpointer({ path });
  const said = (text) => AgentState.create().withMessage(userMessage(text));
  const known = {
    load: async () => (await checkpointer.load("t")).messages[0].content,
    list: async () => (await checkpointer.listCheckpoints("t")).length,
    threads: async () => [...(await checkpointer.listThreads())],
    search: async () => (await checkpointer.search("hello")).length,
    save: () => checkpointer.save(said("more"), "u"),
    fill: async () => {
      for (let number = 0; number < 100; number++) await checkpointer.save(said("x".repeat(100_000)), "fill" + number);
    },
    filled: async () => (await checkpointer.listThreads({ limit: 1000 })).length > 0 && checkpointer.load("fill0").then((state) => state.messages[0].content.length),
  };
  const answers = {};
  for (const call of calls) {
    answers[call] = await known[call]().catch(({ code, message, context }) => ({ code, message, written: context?.written }));
  }
  await checkpointer.close();
  console.log(JSON.stringify(answers));
`;

type Answers = Readonly<Record<string, unknown>>;

const run = promisify(execFile);
const node = (): string[] => [process.execPath, "--import", "tsx", "--input-type=module", "-e", PROGRAM, "--"];

/** Runs the program with mounts of its own, which \`mounts\` prepares; \`$1\` is the folder. */
async function withMounts(mounts: string, directory: string, path: string, calls: readonly string[]): Promise<Answers> {
  const script = `set -e; ${mounts}; shift; exec "$@"`;
  const command = ["-rm", "sh", "-c", script, "sh", directory, ...node(), path, ...calls];
  return JSON.parse((await run("unshare", command, { cwd: root })).stdout) as Answers;
}

/** Needs Linux and the right to create a mount namespace. */
const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;
const isRoot = process.getuid?.() === 0;

async function prepared(): Promise<{ directory: string; path: string }> {
  const directory = await mkdtemp(join(folder, "mount-"));
  const path = join(directory, "a.db");
  await using checkpointer = sqliteCheckpointer({ path });
  await checkpointer.save(said("hello"), "t");
  await checkpointer.search("hello");
  return { directory, path };
}

describe.skipIf(!canMount)("on a mount of its own", () => {
  test("a database on a read-only mount can be read, listed and searched; a save is PERMISSION_DENIED", async () => {
    const { directory, path } = await prepared();
    const readOnly = 'mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"';
    const calls = ["load", "list", "threads", "search", "save"];
    const { save, ...answers } = await withMounts(readOnly, directory, path, calls);
    expect(answers).toEqual({ load: "hello", list: 1, threads: ["t"], search: 1 });
    expect(save).toMatchObject({ code: "PERMISSION_DENIED", written: "no" });
    expect(await readdir(directory)).toEqual(["a.db"]);
  });

  test("a database that would have to be made on a read-only mount is PERMISSION_DENIED, with its path", async () => {
    const { directory } = await prepared();
    const readOnly = 'mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"';
    const path = join(directory, "new.db");
    const { load } = await withMounts(readOnly, directory, path, ["load"]);
    expect(load).toMatchObject({ code: "PERMISSION_DENIED", message: expect.stringContaining(path) });
  });

  test("a disk that is full is STORAGE_FULL, and the save says that nothing was written", async () => {
    const directory = await mkdtemp(join(folder, "mount-"));
    const tiny = 'mount -t tmpfs -o size=2m none "$1"';
    const { fill, filled } = await withMounts(tiny, directory, join(directory, "a.db"), ["fill", "filled"]);
    expect(fill).toMatchObject({ code: "STORAGE_FULL", written: "no" });
    expect(fill).toMatchObject({ message: expect.stringMatching(/full.*Free some space.*Nothing was written$/) });
    expect(filled).toBe(100_000);
  });
});

describe("what cannot be opened is named with its path", () => {
  test("a folder is INVALID_ARGUMENT", async () => {
    const path = freshPath();
    await mkdir(path);
    await using checkpointer = sqliteCheckpointer({ path });
    const failure = await failureOf(() => checkpointer.load("t"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", context: { location: path } });
    expect(failure.message).toContain(`${JSON.stringify(path)} cannot be opened: EISDIR`);
    expect(failure.message).toContain("It is a folder; name a file in it");
  });

  test("a path through a file is INVALID_ARGUMENT", async () => {
    const path = freshPath();
    await writeFile(path, "");
    await using checkpointer = sqliteCheckpointer({ path: join(path, "a.db") });
    expect(await failureOf(() => checkpointer.load("t"))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("a file that is not a database is CORRUPT", async () => {
    const path = freshPath();
    await writeFile(path, "no database, but long enough for one: ".repeat(20));
    await using checkpointer = sqliteCheckpointer({ path });
    const failure = await failureOf(() => checkpointer.save(said("hello"), "t"));
    expect(failure).toMatchObject({ code: "CORRUPT", context: { location: path, written: "no" } });
    expect(failure.message).toContain(`${JSON.stringify(path)} cannot be opened: file is not a database`);
  });

  /** As an unprivileged user: root may read everything. */
  const asNobody = async (path: string, calls: readonly string[]): Promise<Answers> => {
    const [program = "", ...rest] = [...node(), path, ...calls];
    const who = isRoot ? { uid: 65_534, gid: 65_534 } : {};
    return JSON.parse((await run(program, rest, { cwd: root, ...who })).stdout) as Answers;
  };

  test("a file that must not be read is PERMISSION_DENIED", async () => {
    const { directory, path } = await prepared();
    await chmod(folder, 0o755);
    await chmod(directory, 0o755);
    await chmod(path, isRoot ? 0o600 : 0o000);
    const { load, save } = await asNobody(path, ["load", "save"]);
    expect(load).toMatchObject({ code: "PERMISSION_DENIED", message: expect.stringContaining(JSON.stringify(path)) });
    expect(save).toMatchObject({ code: "PERMISSION_DENIED" });
  });

  test("a read-only file can be loaded while its writer is open, and refuses saves", async () => {
    const { directory, path } = await prepared();
    await chmod(folder, 0o755);
    await using writer = sqliteCheckpointer({ path });
    await writer.save(said("here"), "w");
    for (const name of await readdir(directory)) await chmod(join(directory, name), 0o444);
    await chmod(directory, 0o555);
    const { load, save } = await asNobody(path, ["load", "save"]);
    await chmod(directory, 0o755);
    expect(load).toBe("hello");
    expect(save).toMatchObject({ code: "PERMISSION_DENIED", written: "no" });
  });
});

describe("a connection that was handed in", () => {
  test("inside its owner's transaction a save is INVALID_ARGUMENT and says what to do; a load reads", async () => {
    const database = await openDatabase(freshPath());
    const checkpointer = sqliteCheckpointer({ database });
    await checkpointer.save(said("hello"), "t");
    database.exec("BEGIN");
    const failure = await failureOf(() => checkpointer.save(said("more"), "u"));
    expect(failure.code).toBe("INVALID_ARGUMENT");
    expect(failure.message).toMatch(/in a transaction of its owner. Commit that first, or hand in a connection/);
    expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
    database.exec("COMMIT");
    await checkpointer.save(said("more"), "u");
    expect(await checkpointer.listThreads()).toEqual(["t", "u"]);
    database.close();
  });

  test("a first use inside its owner's transaction is also INVALID_ARGUMENT", async () => {
    const database = await openDatabase(freshPath());
    database.exec("BEGIN");
    const checkpointer = sqliteCheckpointer({ database });
    expect(await failureOf(() => checkpointer.load("t"))).toMatchObject({ code: "INVALID_ARGUMENT" });
    database.exec("COMMIT");
    expect(await checkpointer.load("t")).toBeUndefined();
    database.close();
  });
});

test("a save that waited in vain for the lock says that nothing was written", async () => {
  const path = freshPath();
  await using checkpointer = sqliteCheckpointer({ path, busyTimeoutMs: 30, retry: { attempts: 1 } });
  await checkpointer.save(said("hello"), "t");
  const other = await openDatabase(path);
  other.exec("BEGIN IMMEDIATE");
  const failure = await failureOf(() => checkpointer.save(said("hello"), "u"));
  expect(failure).toMatchObject({ code: "UNAVAILABLE", retryable: true, context: { written: "no" } });
  expect(failure.message).toContain("busyTimeoutMs");
  other.close();
});
