import { afterAll, describe, expect, test } from "vitest";
import { guardedCheckpointer } from "../src/checkpoint/guarded-checkpointer.ts";
import {
  Agent,
  AgentSession,
  AgentState,
  type CheckpointerCapabilities,
  type CheckpointRef,
  capabilities,
  type PageOptions,
} from "../src/index.ts";
import { ruleModel } from "../src/testing/models/rule-model.ts";
import { testCheckpointer } from "../src/testing/test-checkpointer.ts";
import { Connection, MyCustomBackend, WithItsThreads, WithTheFlagsOfThePage } from "./straight-port.ts";

describe("the page's program passes every case that applies", () => {
  const suite = (name: string, create: () => MyCustomBackend): void =>
    testCheckpointer({ name, test, afterAll, create: async () => ({ subject: create() }) });
  suite("without flags", () => new MyCustomBackend());
  suite("with the page's flags and the method of each", () => new WithItsThreads());
});

const model = ruleModel([
  { when: /My name is (\w+)/, answer: "Noted." },
  { when: /my name/, answer: ({ recall }) => `You said: ${recall()}` },
]);

test("an agent remembers on it, in every thread apart, and in another process", async () => {
  const conn = new Connection();
  const agent = new Agent({ model, checkpointer: new MyCustomBackend(conn) });
  for (const threadId of ["org", "org/latest", "latest"]) {
    await agent.run(`My name is ${threadId.length} long.`, { threadId });
  }
  const restarted = new Agent({ model, checkpointer: new MyCustomBackend(conn) });
  expect((await restarted.run("What's my name?", { threadId: "org/latest" })).text).toContain("My name is 10 long.");
  expect((await restarted.run("What's my name?", { threadId: "org" })).text).toContain("My name is 3 long.");
});

test("a session finds its newest checkpoint, and is told that older ones are not kept", async () => {
  const backend = new MyCustomBackend();
  const session = new AgentSession({ sessionId: "s/1", backend });
  session.setWorking("city", "Bern");
  await session.checkpoint("booked");
  const restored = await AgentSession.restore("s/1", { backend });
  expect(await restored.getCheckpoint("booked")).toEqual({ city: "Bern" });
  await session.checkpoint("paid");
  await expect(restored.getCheckpoint("booked")).rejects.toMatchObject({
    code: "UNSUPPORTED",
    context: { capability: "history" },
  });
  expect(await (await AgentSession.restore("s/2", { backend })).getCheckpoint("booked")).toBeUndefined();
});

test("a flag without its method is refused by an agent and by the suite, with what to do", () => {
  const says =
    /WithTheFlagsOfThePage advertises "listThreads" and does not implement listThreads\(\)\. Implement it, or/;
  expect(() => new Agent({ model, checkpointer: new WithTheFlagsOfThePage() })).toThrow(says);
  expect(() => guardedCheckpointer(new WithTheFlagsOfThePage())).toThrow(says);
});

/** Counts what it is asked. */
class Counting extends MyCustomBackend {
  readonly asked: string[] = [];
  override save(...all: Parameters<MyCustomBackend["save"]>): Promise<string> {
    this.asked.push("save");
    return super.save(...all);
  }
  override load(...all: Parameters<MyCustomBackend["load"]>): Promise<AgentState | undefined> {
    this.asked.push("load");
    return super.load(...all);
  }
}

/** Does its own lists, as it says. */
class WithHistory extends Counting {
  readonly #order: string[] = [];
  override get capabilities(): CheckpointerCapabilities {
    return capabilities({ history: true });
  }
  override async save(state: AgentState, threadId: string): Promise<string> {
    const id = await super.save(state, threadId);
    this.#order.unshift(id);
    return id;
  }
  /** Takes a limit and gives no cursor. */
  override async listCheckpoints(_threadId: string, { limit = 10 }: PageOptions = {}): Promise<string[]> {
    return this.#order.slice(0, limit);
  }
}

test.each([
  ["plain", Counting],
  ["with history", WithHistory],
])("a storage that is %s is asked for one save by a save, and for one load by a load", async (_name, Kind) => {
  const backend = new Kind();
  const checkpointer = guardedCheckpointer(backend);
  const id = await checkpointer.save(AgentState.create(), "t");
  expect(await checkpointer.load("t", { checkpointId: id })).toBeInstanceOf(AgentState);
  expect(await checkpointer.exists("t")).toBe(true);
  expect(backend.asked).toEqual(["save", "load", "load"]);
});

test("a storage that takes a limit and gives no cursor has pages all the same", async () => {
  const checkpointer = guardedCheckpointer(new WithHistory());
  const ids: string[] = [];
  for (let count = 0; count < 23; count++) ids.unshift(await checkpointer.save(AgentState.create(), "t"));
  const met: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await checkpointer.listCheckpoints("t", { limit: 5, ...(cursor !== undefined && { cursor }) });
    expect(page.length).toBeLessThanOrEqual(5);
    met.push(...(page as readonly string[]));
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  expect(met).toEqual(ids);
});

test("what a plain storage is given is readable, and no id reaches into another", async () => {
  const conn = new Connection();
  const checkpointer = guardedCheckpointer(new MyCustomBackend(conn));
  await checkpointer.save(AgentState.create(), "user-42_a", { checkpointId: "latest" });
  await checkpointer.save(AgentState.create(), "org/alice:1", { checkpointId: "c1" });
  await checkpointer.save(AgentState.create(), "__proto__", { checkpointId: "c" });
  expect([...conn.rows.keys()].filter((key) => !key.endsWith("/latest") || key.includes("@"))).toEqual([
    "user-42_a/@latest",
    "org%2Falice%3A1/@c1",
    "%5F_proto__/@c",
  ]);
  expect(conn.rows.get("user-42_a/latest")).toBe("@latest");
});

test("what was saved past the guard is found behind it", async () => {
  const backend = new WithHistory();
  const id = await backend.save(AgentState.create(), "t");
  class Plain extends MyCustomBackend {
    override async load(threadId: string, ref?: CheckpointRef): Promise<AgentState | undefined> {
      return backend.load(threadId, ref);
    }
    override async listCheckpoints(): Promise<string[]> {
      return [id];
    }
  }
  const checkpointer = guardedCheckpointer(new Plain());
  expect([...(await checkpointer.listCheckpoints("t"))]).toEqual([{ checkpointId: id }]);
  expect(await checkpointer.load("t", { checkpointId: id })).toBeInstanceOf(AgentState);
});

test("the guard of one backend is one, and a checkpointer of holdfast has none", async () => {
  const backend = new MyCustomBackend();
  expect(guardedCheckpointer(backend)).toBe(guardedCheckpointer(backend));
  expect(guardedCheckpointer(guardedCheckpointer(backend))).toBe(guardedCheckpointer(backend));
  const { MemoryCheckpointer } = await import("../src/backends/memory/index.ts");
  const own = new MemoryCheckpointer();
  expect(guardedCheckpointer(own)).toBe(own);
});
