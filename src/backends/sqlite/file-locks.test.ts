import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { holdfast } from "../../../test/cli/fake-world.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { startStudio } from "../../studio/studio-server.ts";
import { AgentSession } from "../../wiring/agent-session.ts";
import { UserStore } from "../../wiring/user-store.ts";
import { openCheckpointer, openSaver } from "../open.ts";
import { openStore } from "../open-store.ts";
import { sqliteCheckpointer, sqliteConnection, sqliteStore } from "./index.ts";
import { openDatabase } from "./open-file.ts";
import { openTables } from "./tables.ts";

const root = await mkdtemp(join(tmpdir(), "holdfast-sqlite-locks-"));
afterAll(() => rm(root, { recursive: true }));
const freshPath = async (): Promise<string> => join(await mkdtemp(join(root, "d-")), "a.db");
const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

/**
 * How many locks this process has on the file. Nothing here may open the file: that would drop them. While others take
 * and drop locks, the kernel's list may show one twice or leave one out.
 */
function locksOn(path: string): number {
  const { ino } = statSync(path);
  const own = (line: string): boolean => line.includes(` ${process.pid} `) && line.includes(`:${ino} `);
  const lines = readFileSync("/proc/locks", "utf8").split("\n").filter(own);
  return new Set(lines.map((line) => line.replace(/^\d+: /, ""))).size;
}

/** A lock that was dropped does not come back, so looking again can only mend what the list left out. */
const assertLocked = (path: string): Promise<void> =>
  expect.poll(() => [locksOn(path), locksOn(`${path}-shm`)]).toEqual([1, 1]);

/** Every public way to open a database, to use it and to close it. */
const WAYS: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  "another checkpointer": async (path) => {
    await using checkpointer = sqliteCheckpointer({ path });
    await checkpointer.save(said("more"), "u");
  },
  "a checkpointer of a URL": async (path) => {
    await using checkpointer = await openCheckpointer(`sqlite:${path}`);
    await checkpointer.load("t");
    await checkpointer.vacuum({ keepLast: 1 });
  },
  "a checkpointer that only reads": async (path) => {
    await using checkpointer = await openCheckpointer(`sqlite:${path}`, { access: "read" });
    await checkpointer.load("t");
  },
  "a checkpointer that was used and fails": async (path) => {
    await using checkpointer = sqliteCheckpointer({ path, tablePrefix: "other_", access: "read" });
    await checkpointer.load("t").catch(() => undefined);
  },
  "a store": async (path) => {
    await using store = sqliteStore({ path });
    await store.put(["n"], "k", { v: 1 });
  },
  "a store of a URL": async (path) => {
    await using store = await openStore(`sqlite:${path}`);
    await store.get(["n"], "k");
  },
  "a saver": async (path) => {
    const saver = await openSaver(`sqlite:${path}`);
    await saver.prune({ threadId: "graph", keepLast: 1 });
    await saver.close();
  },
  "a shared connection": async (path) => {
    const connection = sqliteConnection({ path });
    await using checkpointer = sqliteCheckpointer({ connection });
    await using store = sqliteStore({ connection });
    await checkpointer.load("t");
    await store.get(["n"], "k");
  },
  "a connection that was handed in": async (path) => {
    const database = await openDatabase(path);
    await using checkpointer = sqliteCheckpointer({ database });
    await checkpointer.load("t");
    database.close();
  },
  "a user store": async (path) => {
    await using users = new UserStore({ backend: `sqlite:${path}` });
    await users.set("ann", "k", 1);
  },
  "a session": async (path) => {
    await using session = new AgentSession({ sessionId: "s", backend: `sqlite:${path}` });
    await session.checkpoint("done");
  },
  "the tables": async (path) => {
    const tables = await openTables(`sqlite:${path}`, "read");
    await tables.versions();
    await tables.close();
  },
  Studio: async (path) => {
    const checkpointer = await openCheckpointer(`sqlite:${path}`, { access: "read" });
    const pageFolder = await mkdtemp(join(root, "page-"));
    await writeFile(join(pageFolder, "index.html"), "<!doctype html>");
    const studio = await startStudio({
      storeName: "sqlite:./a.db",
      mayWrite: false,
      mayDelete: false,
      canErase: false,
      cacheBytes: 1_000_000,
      version: "0",
      now: Date.now,
      note: () => undefined,
      port: 0,
      pageFolder,
      checkpointer,
    });
    await checkpointer.listThreads();
    await studio.close();
    await checkpointer.close();
  },
};

/** Lines of the command `holdfast`, after the store's URL. */
const LINES: Readonly<Record<string, readonly string[]>> = {
  threads: [],
  show: ["t"],
  history: ["t"],
  search: ["hello"],
  stats: [],
  inbox: [],
  verify: [],
  doctor: ["--quick"],
  capabilities: [],
  migrate: ["--dry-run"],
  export: [],
  "lease show": ["t"],
  "store namespaces": [],
  memories: [],
  inventory: ["ann"],
};

describe.skipIf(!existsSync("/proc/locks"))("no way to open a database drops the locks of another connection", () => {
  test.each(Object.keys(WAYS))("%s", async (way) => {
    const path = await freshPath();
    await using keeper = sqliteCheckpointer({ path });
    await keeper.save(said("hello"), "t");
    await assertLocked(path);
    await WAYS[way]?.(path);
    await assertLocked(path);
  });

  test.each(Object.keys(LINES))("holdfast %s", async (command) => {
    const path = await freshPath();
    await using keeper = sqliteCheckpointer({ path });
    await keeper.save(said("hello"), "t");
    await using store = sqliteStore({ path });
    await store.put(["n"], "k", { v: 1 });
    await assertLocked(path);
    const outcome = await holdfast([...command.split(" "), `sqlite:${path}`, ...(LINES[command] ?? [])]);
    expect(outcome).toMatchObject({ code: 0 });
    await assertLocked(path);
  });

  test("a reader that began without a writer goes when there is one", async () => {
    const path = await freshPath();
    const first = sqliteCheckpointer({ path });
    await first.save(said("hello"), "t");
    await first.close();
    const reader = await openCheckpointer(`sqlite:${path}`, { access: "read" });
    expect((await reader.load("t"))?.messages).toHaveLength(1);
    await using keeper = sqliteCheckpointer({ path });
    await keeper.save(said("more"), "u");
    await assertLocked(path);
    expect((await reader.load("u"))?.messages).toHaveLength(1);
    await reader.close();
    await assertLocked(path);
  });

  test("a new file is its owner's alone, and nothing else is left in its folder", async () => {
    const path = await freshPath();
    await using keeper = sqliteCheckpointer({ path });
    await keeper.save(said("hello"), "t");
    const names = (await readdir(dirname(path))).sort();
    expect(names).toEqual(["a.db", "a.db-shm", "a.db-wal"]);
    expect(names.map((name) => statSync(join(dirname(path), name)).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  });
});

/** Says each save as soon as it is acknowledged, over two connections, and stays. */
const TWO_AGENTS = `
  const { sqliteCheckpointer, sqliteStore } = await import("./src/backends/sqlite/index.ts");
  const { AgentState, userMessage } = await import("./src/index.ts");
  const path = process.argv[1];
  const first = sqliteCheckpointer({ path });
  const second = sqliteCheckpointer({ path });
  const store = sqliteStore({ path });
  for (let turn = 0; turn < 3; turn++) {
    const [one, other] = turn % 2 === 0 ? [first, second] : [second, first];
    await one.save(AgentState.create().withMessage(userMessage("turn " + turn)), "t" + turn);
    await store.put(["turns"], "t" + turn, { turn });
    await other.load("t" + turn);
    console.log("t" + turn);
  }
  console.log("all");
  setInterval(() => undefined, 1000);
`;

const LOOK = `
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM holdfast_threads").fetchone()[0])
`;

const hasPython = spawnSync("python3", ["-c", "import sqlite3"]).status === 0;

describe.skipIf(!hasPython)("beside another SQLite that looks on", () => {
  test.each(["SIGKILL", "SIGTERM"] as const)(
    "nothing that was acknowledged is lost when the process ends by %s",
    async (signal) => {
      const path = await freshPath();
      const cwd = fileURLToPath(new URL("../../../", import.meta.url));
      const program = ["--import", "tsx", "--input-type=module", "-e", TWO_AGENTS, "--", path];
      const agents = spawn(process.execPath, program, { cwd, stdio: ["ignore", "pipe", "inherit"] });
      const look = async (): Promise<string> =>
        (await promisify(execFile)("python3", ["-c", LOOK, path])).stdout.trim();
      const seen: string[] = [];
      for await (const line of createInterface({ input: agents.stdout })) {
        if (line === "all") break;
        seen.push(await look());
        expect(existsSync(`${path}-wal`), "the write-ahead log of a database that is open").toBe(true);
      }
      expect(Number(seen.at(-1))).toBe(3);
      const ended = once(agents, "exit");
      agents.kill(signal);
      await ended;
      expect(await look()).toBe("3");
      await using checkpointer = sqliteCheckpointer({ path });
      await using store = sqliteStore({ path });
      for (const turn of [0, 1, 2]) {
        expect((await checkpointer.load(`t${turn}`))?.messages[0]?.content).toBe(`turn ${turn}`);
        expect(await store.get(["turns"], `t${turn}`)).toEqual({ turn });
      }
    },
  );
});
