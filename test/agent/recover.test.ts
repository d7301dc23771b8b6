import { describe, expect, test } from "vitest";
import type { CoreAgent } from "../../src/agent/agent.ts";
import { type Tool, type ToolContext, tool } from "../../src/agent/tool-call/tool.ts";
import { StateError } from "../../src/errors.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { asksFor, newProcess, paint } from "./painting.ts";
import { MemoryStore } from "./stored-thread.ts";

const works: ScriptStep = { toolCalls: [{ name: "work", id: "w" }] };
const work = (done: string[]): Tool =>
  tool({ name: "work", effect: "idempotent", execute: (_, { threadId }) => void done.push(threadId ?? "") });

/** A thread whose process was killed before its tool began. */
async function killed(store: MemoryStore, threadId: string, tools: readonly Tool[] = [work([])]): Promise<void> {
  const agent = agentOf({
    model: scriptedModel([works]),
    checkpointer: store.open(),
    tools,
    hooks: {
      beforeTool: () => {
        throw new Error("killed");
      },
    },
  });
  await failureOf(() => agent.run("go", { threadId }));
}

const rescuer = (store: MemoryStore, done: string[], answers = 10): CoreAgent =>
  agentOf({
    model: scriptedModel(Array.from({ length: answers }, () => "ready")),
    checkpointer: store.open(),
    tools: [work(done), paint([])],
  });

describe("recover goes on with what was left unfinished", () => {
  test("every such thread once, under its prefix, and no thread that is finished", async () => {
    const store = new MemoryStore();
    for (const id of ["a/1", "a/2", "a*/3", "b/1"]) await killed(store, id);
    await agentOf({ model: scriptedModel(["hi"]), checkpointer: store.open() }).run("hello", { threadId: "a/4" });
    const done: string[] = [];
    const report = await rescuer(store, done).recover({ prefix: "a/", olderThanMs: 0 });
    expect(report.recovered.toSorted((a, b) => (a.threadId < b.threadId ? -1 : 1))).toEqual([
      { threadId: "a/1", stopReason: "complete" },
      { threadId: "a/2", stopReason: "complete" },
    ]);
    expect(done.toSorted()).toEqual(["a/1", "a/2"]);
    expect(await rescuer(store, done).recover({ prefix: "a/", olderThanMs: 0 })).toMatchObject({ recovered: [] });
    await rescuer(store, done).recover({ prefix: "a*", olderThanMs: 0 });
    expect(done.toSorted()).toEqual(["a*/3", "a/1", "a/2"]);
  });

  test("a thread that was written to just now is left alone", async () => {
    const store = new MemoryStore();
    await killed(store, "t");
    expect(await rescuer(store, []).recover()).toMatchObject({ recovered: [], failed: [] });
  });

  test("more threads than a page holds, no more of them at once than allowed", async () => {
    const store = new MemoryStore();
    const ids = Array.from({ length: 120 }, (_, index) => `t${index}`);
    for (const id of ids) await killed(store, id);
    let [running, most] = [0, 0];
    const slow = tool({
      name: "work",
      effect: "idempotent",
      execute: async () => {
        most = Math.max(most, ++running);
        await new Promise(setImmediate);
        running--;
      },
    });
    const model = scriptedModel(ids.map(() => "ready"));
    const agent = agentOf({ model, checkpointer: store.open(), tools: [slow] });
    const { recovered } = await agent.recover({ olderThanMs: 0, concurrency: 3 });
    expect(recovered).toHaveLength(120);
    expect(most).toBeLessThanOrEqual(3);
  });

  test("one thread that fails is reported, and the others are run", async () => {
    const store = new MemoryStore();
    for (const id of ["t1", "t2", "t3"]) await killed(store, id);
    const done: string[] = [];
    const report = await rescuer(store, done, 2).recover({ olderThanMs: 0, concurrency: 1 });
    expect(report.recovered).toHaveLength(2);
    expect(report.failed).toMatchObject([{ error: { code: "MODEL_FAILED" } }]);
  });

  test("two processes that do so at once share the work, and neither reports the other's as failed", async () => {
    const store = new MemoryStore();
    const ids = Array.from({ length: 8 }, (_, index) => `t${index}`);
    for (const id of ids) await killed(store, id);
    const done: string[] = [];
    const slow = tool({
      name: "work",
      effect: "idempotent",
      execute: async (_, { threadId }) => {
        done.push(threadId ?? "");
        await new Promise((resolve) => setTimeout(resolve, 20));
      },
    });
    const reports = await Promise.all(
      [1, 2].map(() => {
        const model = scriptedModel(ids.map(() => "ready"));
        return agentOf({ model, checkpointer: store.open(), tools: [slow] }).recover({ olderThanMs: 0 });
      }),
    );
    expect(reports.flatMap(({ failed }) => failed)).toEqual([]);
    expect(done.toSorted()).toEqual(ids);
  });

  test("a thread that another process finished between the look and the turn is not counted again", async () => {
    const store = new MemoryStore();
    await killed(store, "t");
    const done: string[] = [];
    const second = store.open();
    const list = second.listWithMetadata.bind(second);
    second.listWithMetadata = async (...given) => {
      const found = await list(...given);
      expect((await rescuer(store, done).recover({ olderThanMs: 0 })).recovered).toHaveLength(1);
      return found;
    };
    const late = agentOf({ model: scriptedModel([]), checkpointer: second, tools: [work(done)] });
    expect(await late.recover({ olderThanMs: 0 })).toEqual({ recovered: [], failed: [], warnings: [] });
    expect(done).toEqual(["t"]);
  });

  test("a thread whose holder cannot be looked up is reported, and the others are run", async () => {
    const store = new MemoryStore();
    const begun = gate();
    const hangs = tool({
      name: "work",
      effect: "idempotent",
      execute: () => {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    const alive = agentOf({ model: scriptedModel([works]), checkpointer: store.open(), tools: [hangs] });
    void alive.run("go", { threadId: "t1" }).catch(() => undefined);
    await begun.opened;
    for (const id of ["t2", "t3"]) await killed(store, id);
    const tail = store.log.tail.bind(store.log);
    store.log.tail = async (threadId) => {
      if (threadId === "t1") throw new StateError("CORRUPT", "the record is damaged", { threadId });
      return tail(threadId);
    };
    const done: string[] = [];
    const report = await rescuer(store, done).recover({ olderThanMs: 0, concurrency: 1 });
    expect(report.failed).toMatchObject([{ threadId: "t1", error: { code: "CORRUPT" } }]);
    expect(done.toSorted()).toEqual(["t2", "t3"]);
  });

  test("what waits for a person is left waiting; what was answered goes on", async () => {
    const store = new MemoryStore();
    await newProcess(store, [paint([])], [asksFor("ann")]).run("go", { threadId: "t" });
    const agent = rescuer(store, []);
    expect(await agent.recover({ olderThanMs: 0 })).toMatchObject({ recovered: [], failed: [] });
    const killed = newProcess(store, [paint([])], [new Error("down")]);
    await failureOf(() => killed.answer({ threadId: "t", id: "paint-ann/1", response: "red" }));
    expect((await agent.recover({ olderThanMs: 0 })).recovered).toEqual([{ threadId: "t", stopReason: "complete" }]);
  });

  test.each([
    ["max-iterations", { maxIterations: 1 }],
    ["stopped", { stopWhen: ({ iterations }: { iterations: number }) => iterations > 0 }],
    ["token-budget", { tokenBudget: 1 }],
  ])("a turn that was ended on purpose (%s) is not taken for a lost one until it is resumed", async (why, limits) => {
    const store = new MemoryStore();
    const model = scriptedModel([{ ...works, usage: { inputTokens: 5 } } as ScriptStep]);
    const options = { checkpointer: store.open(), tools: [work([])] };
    expect((await agentOf({ model, ...options, ...limits }).run("go", { threadId: "t" })).stopReason).toBe(why);
    expect(await store.open().listWithMetadata()).toMatchObject([{ standing: { unfinished: true, stopped: true } }]);
    expect(await rescuer(store, []).recover({ olderThanMs: 0 })).toMatchObject({ recovered: [] });
    await rescuer(store, []).run(undefined, { threadId: "t" });
    expect((await store.open().listWithMetadata())[0]).not.toHaveProperty("standing");
  });

  test("a drained run is taken up again", async () => {
    const store = new MemoryStore();
    const [running, go] = [gate(), gate()];
    const slow = tool({
      name: "work",
      execute: async () => {
        running.open();
        await go.opened;
      },
    });
    const agent = agentOf({ model: scriptedModel([works]), checkpointer: store.open(), tools: [slow] });
    const run = agent.run("go", { threadId: "t" });
    await running.opened;
    const drained = agent.drain();
    go.open();
    await drained;
    expect((await run).stopReason).toBe("drained");
    expect((await rescuer(store, []).recover({ olderThanMs: 0 })).recovered).toHaveLength(1);
  });

  test("a turn that a terminal tool ended is over", async () => {
    const store = new MemoryStore();
    const submit = tool({ name: "work", terminal: true, execute: () => "submitted" });
    await agentOf({ model: scriptedModel([works]), checkpointer: store.open(), tools: [submit] }).run("go", {
      threadId: "t",
    });
    expect((await store.open().listWithMetadata())[0]).not.toHaveProperty("standing");
  });

  test("an abort or a drain begins no further thread", async () => {
    const store = new MemoryStore();
    for (const id of ["t1", "t2", "t3"]) await killed(store, id);
    const stop = new AbortController();
    const aborting = tool({ name: "work", effect: "idempotent", execute: () => stop.abort() });
    const model = scriptedModel(["ready", "ready", "ready"]);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [aborting] });
    const report = await agent.recover({ olderThanMs: 0, concurrency: 1, signal: stop.signal });
    expect(report).toMatchObject({ recovered: [{ stopReason: "complete" }], failed: [] });
  });

  test("tools get the context; wrong options are refused", async () => {
    const store = new MemoryStore();
    await killed(store, "t");
    const seen: unknown[] = [];
    const needs = tool({
      name: "work",
      effect: "idempotent",
      execute: (_input, { runtime }: ToolContext<{ readonly db: string }>) => void seen.push(runtime.db),
    });
    const agent = agentOf<unknown, { readonly db: string }>({
      model: scriptedModel(["ready"]),
      checkpointer: store.open(),
      tools: [needs],
    });
    await agent.recover({ olderThanMs: 0, runtime: { db: "orders" } });
    expect(seen).toEqual(["orders"]);
    const wrong = (options: object): Promise<unknown> => rescuer(store, []).recover(options);
    expect((await failureOf(() => wrong({ olderThan: 1 }))).message).toMatch(/did you mean "olderThanMs"/);
    expect((await failureOf(() => wrong({ concurrency: 0 }))).code).toBe("INVALID_ARGUMENT");
    const saves = agentOf({ model: scriptedModel([]) });
    expect((await failureOf(() => saves.recover())).message).toMatch(/needs an agent with a checkpointer/);
  });
});

describe("what a tool said of itself is recorded with its call", () => {
  test("its effect, from the intent on", async () => {
    const store = new MemoryStore();
    await killed(store, "t");
    expect((await store.state()).toolExecutions).toMatchObject([{ status: "intended", effect: "idempotent" }]);
  });

  test("a call that began as at-most-once is not run again because the tool calls itself idempotent now", async () => {
    const store = new MemoryStore();
    const begun = gate();
    const hangs = tool({
      name: "work",
      execute: () => {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    const stop = new AbortController();
    const first = agentOf({ model: scriptedModel([works]), checkpointer: store.open(), tools: [hangs] });
    const run = first.run("go", { threadId: "t", signal: stop.signal });
    await begun.opened;
    stop.abort();
    await run;
    const done: string[] = [];
    await rescuer(store, done).run(undefined, { threadId: "t" });
    expect({ done, statuses: await store.statuses() }).toEqual({ done: [], statuses: ["unknown"] });
  });
});

test("a leased thread is left alone until the lease has run out", async () => {
  const store = new MemoryStore();
  const begun = gate();
  const hangs = tool({
    name: "work",
    effect: "idempotent",
    execute: () => {
      begun.open();
      return new Promise(() => undefined);
    },
  });
  const held = agentOf({
    model: scriptedModel([works]),
    checkpointer: store.open(),
    tools: [hangs],
    lease: { owner: "worker-1", ttlMs: 60_000 },
  });
  void held.run("go", { threadId: "t" }).catch(() => undefined);
  await begun.opened;
  expect(await store.open().listWithMetadata()).toMatchObject([{ lease: { owner: "worker-1" } }]);
  expect(await rescuer(store, []).recover({ olderThanMs: 0 })).toMatchObject({ recovered: [], failed: [] });
  await held.drain({ deadlineMs: 0 });
});
