import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { toLangGraphSaver } from "../adapters/langgraph/saver.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { AgentState } from "../state/agent-state.ts";
import type { BaseStore } from "../store/base-store.ts";
import { scriptedModel } from "../testing/models/scripted-model.ts";
import { Agent } from "../wiring/agent.ts";
import { AgentSession } from "../wiring/agent-session.ts";
import { UserStore } from "../wiring/user-store.ts";
import { FileCheckpointer } from "./file/index.ts";
import { fixedUrl, openCheckpointer, openSaver } from "./open.ts";
import { openStore } from "./open-store.ts";
import { sqliteCheckpointer, sqliteStore } from "./sqlite/index.ts";

const root = await mkdtemp(join(tmpdir(), "holdfast-places-"));
const start = process.cwd();
afterEach(() => process.chdir(start));
afterAll(() => rm(root, { recursive: true }));

interface Closable {
  close(): Promise<unknown>;
}

type Opening = () => Promise<Closable & { use(): Promise<unknown> }>;

/** Opened in one moment, used in another. */
const opening =
  <Subject extends Closable>(open: () => Promise<Subject> | Subject, use: (subject: Subject) => unknown): Opening =>
  async () => {
    const subject = await open();
    return { use: async () => use(subject), close: () => subject.close() };
  };

const save = (checkpointer: BaseCheckpointer): Promise<string> => checkpointer.save(AgentState.create(), "t");
const put = (store: BaseStore): Promise<unknown> => store.put(["n"], "k", 1);
const model = scriptedModel([]);

/** Each names the relative place `made`. */
const OPENINGS: Readonly<Record<string, Opening>> = {
  sqliteCheckpointer: opening(() => sqliteCheckpointer({ path: "made" }), save),
  sqliteStore: opening(() => sqliteStore({ path: "made" }), put),
  FileCheckpointer: opening(() => new FileCheckpointer({ directory: "made" }), save),
  openCheckpointer: opening(() => openCheckpointer("sqlite:made"), save),
  "openCheckpointer with parameters": opening(() => openCheckpointer("sqlite:./made?tablePrefix=a_"), save),
  openSaver: opening(
    () => openSaver("file:./made"),
    (saver) => saver.deleteThread("t"),
  ),
  openStore: opening(() => openStore("sqlite:./made"), put),
  Agent: opening(
    () => new Agent({ model: scriptedModel(["hi"]), checkpointer: "sqlite:./made" }),
    (agent) => agent.run("hello", { threadId: "t" }),
  ),
  AgentSession: opening(
    () => new AgentSession({ sessionId: "s", backend: "file:made" }),
    (session) => session.checkpoint("done"),
  ),
  UserStore: opening(
    () => new UserStore({ backend: "sqlite:made" }),
    (users) => users.set("ann", "likes", "tea"),
  ),
};

describe("a relative place is that of the moment in which it was named", () => {
  test.each(Object.entries(OPENINGS))("%s", async (name, open) => {
    const [before, after] = [join(root, `${name} before`), join(root, `${name} after`)];
    for (const folder of [before, after]) await mkdir(folder);
    process.chdir(before);
    const opened = open();
    process.chdir(after);
    const subject = await opened;
    await subject.use();
    await subject.close();
    expect([existsSync(join(before, "made")), existsSync(join(after, "made"))]).toEqual([true, false]);
  });

  test("and letters that mean something in a URL stay part of it", async () => {
    const folder = join(root, "50% #1? ü");
    await mkdir(folder);
    process.chdir(folder);
    const url = fixedUrl("sqlite:./a%20b.db?tablePrefix=x_");
    process.chdir(start);
    const checkpointer = await openCheckpointer(url);
    await checkpointer.save(AgentState.create(), "t");
    await checkpointer.close();
    expect(existsSync(join(folder, "a b.db"))).toBe(true);
  });
});

test("URLs of memory and of servers stay as they are", () => {
  for (const url of ["memory:", "sqlite::memory:", "postgres://a:b%2F@h/d?x=1", "https://h/p"]) {
    expect(fixedUrl(url)).toBe(url);
  }
});

describe.runIf(process.platform !== "win32")("a path of Windows on another system", () => {
  const named: Readonly<Record<string, () => unknown>> = {
    sqliteCheckpointer: () => sqliteCheckpointer({ path: "C:\\data\\a.db" }),
    sqliteStore: () => sqliteStore({ path: "C:/data/a.db" }),
    FileCheckpointer: () => new FileCheckpointer({ directory: "\\\\server\\share" }),
    "a URL with backslashes": () => openCheckpointer("sqlite:C:\\data\\a.db"),
    "a URL with three slashes": () => openCheckpointer("sqlite:///C:/data/a.db"),
    "a URL of a folder": () => openCheckpointer("file:///C:/threads"),
    "an agent's URL": () => new Agent({ model, checkpointer: "sqlite:///C:/a.db" }),
  };
  test.each(Object.entries(named))(
    "is refused, and names no file of the working directory: %s",
    async (_name, open) => {
      const failure = await failureOf(open);
      expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(failure.message).toMatch(
        /is a path of Windows, and this is another system; a path here is \/absolute\/path/,
      );
    },
  );
});

describe("what is nearly a URL is answered with what was meant", () => {
  test.each([
    ["postgre://u:secret@h/d", "did you mean postgres://localhost:5432/agents?"],
    ["postgress://u:secret@h/d", "did you mean postgres://localhost:5432/agents?"],
    ["postgresql+psycopg://u:secret@h/d", "did you mean postgres://localhost:5432/agents?"],
    ["sqlite3:///secret.db", "did you mean sqlite:./agents.db?"],
    ["sqlite+aiosqlite:///secret.db", "did you mean sqlite:./agents.db?"],
    ["opensarch://secret", "did you mean opensearch://localhost:9200/holdfast?"],
    ["clickhouse://u:secret@h/d", "it should look like memory:, file:./threads, sqlite:./agents.db, "],
    ["./secret.db", "write sqlite: before that of a database file, file: before that of a folder"],
    ["/var/secret.db", "write sqlite: before that of a database file, file: before that of a folder"],
    ["C:\\secret.db", "write sqlite: before that of a database file, file: before that of a folder"],
  ])("%s", async (url, answer) => {
    for (const open of [openCheckpointer, openSaver]) {
      const failure = await failureOf(() => open(url));
      expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(failure.message).toContain(answer);
      expect(failure.message).not.toContain("secret");
    }
    expect((await failureOf(() => openStore(url))).message).not.toContain("secret");
    expect((await failureOf(() => toLangGraphSaver(url))).message).not.toContain("secret");
  });

  test("four slashes, as other libraries want them before an absolute path", async () => {
    const failure = await failureOf(() => openCheckpointer("sqlite:////var/a.db"));
    expect(failure.message).toBe(
      '"sqlite:////var/a.db" has four slashes where three begin an absolute path; write sqlite:///absolute/path or sqlite:./relative/path',
    );
    const host = await failureOf(() => openCheckpointer("file://threads"));
    expect(host.message).toContain(
      '"file://threads" names a host; write file:///absolute/path or file:./relative/path',
    );
  });
});
