import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, test } from "vitest";
import { holdfast } from "../../../test/cli/fake-world.ts";
import { KEY } from "../../../test/session/people.ts";
import { COMMANDS } from "../../cli/commands.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { startStudio } from "../../studio/studio-server.ts";
import { scriptedModel } from "../../testing/models/scripted-model.ts";
import { Agent } from "../../wiring/agent.ts";
import { AgentSession } from "../../wiring/agent-session.ts";
import { PersonalData } from "../../wiring/personal-data.ts";
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
  "a session that is restored": async (path) => {
    const backend = `sqlite:${path}`;
    await using session = await AgentSession.restore("s", { backend });
    await session.checkpoint("done");
  },
  "an agent of a URL": async (path) => {
    await using agent = new Agent({ model: scriptedModel(["hello"]), checkpointer: `sqlite:${path}` });
    await agent.run("hello", { threadId: "of an agent" });
    await agent.recover();
  },
  "the records of erasures": async (path) => {
    const ledger = `sqlite:${path}`;
    await using checkpointer = await openCheckpointer(ledger);
    const data = new PersonalData({ checkpointers: [checkpointer], ledger, key: KEY });
    await data.eraseUser("ann");
    await data.close();
  },
  "another thread of the process": async (path) => {
    const data = { path, module: new URL("./index.ts", import.meta.url).href };
    const worker = new Worker(WORKER, { eval: true, workerData: data });
    expect(await once(worker, "message")).toEqual([["t"]]);
    await worker.terminate();
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

/** What a worker does: it closes one connection, and is ended with another one open. */
const WORKER = `
  const { workerData, parentPort } = require("node:worker_threads");
  import("tsx/esm/api").then(async ({ register }) => {
    register();
    const { sqliteCheckpointer } = await import(workerData.module);
    const [kept, closed] = [1, 2].map(() => sqliteCheckpointer({ path: workerData.path }));
    await closed.load("t");
    await closed.close();
    parentPort.postMessage(await kept.listThreads());
    setInterval(() => undefined, 1000);
  });
`;

/** What each command is called with behind the store's URL, so that it opens the store and does what it is for. */
const LINES: Readonly<Record<string, readonly string[]>> = {
  threads: [],
  show: ["t"],
  history: ["t"],
  diff: ["t", "@0", "@0"],
  search: ["hello"],
  tail: ["t"],
  stats: [],
  capabilities: [],
  inbox: [],
  answer: ["t", "call/1", "1"],
  send: ["t", "and more"],
  cancel: ["t"],
  settle: ["t", "call", "done", "--by=ann"],
  fork: ["t", "forked"],
  delete: ["t", "--yes"],
  vacuum: ["--keep-last=1", "--yes"],
  "lease show": ["t"],
  "lease break": ["t", "--yes"],
  copy: ["{folder}/copied.db"],
  export: [],
  import: ["-"],
  "store namespaces": [],
  "store items": [],
  "store get": ["n", "k"],
  "store search": ["/", "hello"],
  memories: [],
  inventory: ["ann"],
  "export-user": ["ann"],
  erase: ["ann", "--ledger=sqlite:{folder}/ledger.db", "--key=env:ERASURE_KEY", "--yes"],
  "hold place": ["--subject=ann", "--reason=a case", "--by=counsel"],
  "hold list": [],
  "hold lift": ["none", "--reason=closed", "--by=counsel", "--yes"],
  retention: ["--rules={folder}/rules.json", "--ledger=sqlite:{folder}/ledger.db", "--key=env:ERASURE_KEY", "--yes"],
  verify: [],
  repair: ["t"],
  doctor: ["--quick"],
  migrate: [],
  serve: ["--port=0"],
};

/** Runs a command until it ended, or has said where it serves. */
async function called(command: string, path: string): Promise<number> {
  const folder = dirname(path);
  await writeFile(join(folder, "rules.json"), '[{"category":"process","keepLast":1}]');
  const url = `sqlite:${path}`;
  const words = (LINES[command] ?? []).map((word) => word.replace("{folder}", folder));
  const more = command === "copy" ? [`sqlite:${words[0]}`] : words;
  const ending = new AbortController();
  const isServing = command === "serve" || command === "studio";
  const { code, stderr } = await holdfast([...command.split(" "), url, ...more], {
    signal: ending.signal,
    ...(command === "import" && { typed: (await holdfast(["export", url])).stdout }),
    env: { ERASURE_KEY: KEY },
    ...(isServing && { onOutput: () => ending.abort() }),
  });
  expect(stderr, "of how it is called").not.toMatch(/Usage|unknown option/);
  return code;
}

describe.skipIf(!existsSync("/proc/locks"))("no way to open a database drops the locks of another connection", () => {
  test.each(Object.keys(WAYS))("%s", async (way) => {
    const path = await freshPath();
    await using keeper = sqliteCheckpointer({ path });
    await keeper.save(said("hello"), "t");
    await assertLocked(path);
    await WAYS[way]?.(path);
    await assertLocked(path);
  });

  test("each command that opens a store is called here", () => {
    const opening = COMMANDS.filter(({ store }) => store !== "none").map(({ name }) => name);
    expect([...Object.keys(LINES), "studio"].sort()).toEqual(opening.sort());
  });

  test.each(Object.keys(LINES))("holdfast %s", async (command) => {
    const path = await freshPath();
    await using keeper = sqliteCheckpointer({ path });
    await keeper.save(said("hello"), "t");
    await using store = sqliteStore({ path });
    await store.put(["n"], "k", { v: 1 });
    await assertLocked(path);
    // Not 2: that is a command that was called wrongly and has opened nothing; not 9: nor has one that cannot open it.
    expect([0, 1, 3, 4, 5, 7]).toContain(await called(command, path));
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

/**
 * Two agents, a checkpointer and a store on one file. Says each turn as soon as it is acknowledged, with how many locks
 * the process has on the file and on its shared memory.
 */
const TWO_AGENTS = `
  const { readFileSync, statSync } = await import("node:fs");
  const { sqliteCheckpointer, sqliteStore } = await import("./src/backends/sqlite/index.ts");
  const { Agent } = await import("./src/index.ts");
  const { scriptedModel } = await import("./src/testing/models/scripted-model.ts");
  const path = process.argv[1];
  const locks = (file) => {
    const { ino } = statSync(file);
    const own = (line) => line.includes(" " + process.pid + " ") && line.includes(":" + ino + " ");
    return new Set(readFileSync("/proc/locks", "utf8").split("\\n").filter(own).map((line) => line.replace(/^\\d+: /, ""))).size;
  };
  const model = () => scriptedModel(["one", "two", "three"]);
  const first = new Agent({ model: model(), checkpointer: "sqlite:" + path });
  const second = new Agent({ model: model(), checkpointer: "sqlite:" + path });
  const looking = sqliteCheckpointer({ path });
  const store = sqliteStore({ path });
  for (let turn = 0; turn < 3; turn++) {
    const agent = turn % 2 === 0 ? first : second;
    await agent.run("turn " + turn, { threadId: "t" + turn });
    await store.put(["turns"], "t" + turn, { turn });
    await looking.load("t" + turn);
    console.log(JSON.stringify([locks(path), locks(path + "-shm")]));
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
        if (existsSync("/proc/locks"))
          expect(JSON.parse(line), "locks on the file and its shared memory").toEqual([1, 1]);
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
