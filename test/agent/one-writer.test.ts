import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Tool, type ToolOptions, tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { openHeader } from "../../src/checkpoint/record/record.ts";
import type { AnySchema } from "../../src/models/schema.ts";
import { userMessage } from "../../src/state/message.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { BreakingLog } from "../altered-log.ts";
import { failureOf } from "../failure-of.ts";
import { turnsPass } from "../turns-of-the-loop.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const callsWork = { toolCalls: [{ name: "work", id: "c" }] };

/** A tool that says when it is begun and ends when it may. */
function slowTool(options: Partial<ToolOptions<AnySchema>> = {}): {
  tool: Tool;
  begun: Promise<void>;
  end: () => void;
  acted: () => number;
} {
  const [begun, go] = [gate(), gate()];
  let acted = 0;
  const work = tool({
    name: "work",
    ...options,
    execute: async () => {
      acted++;
      begun.open();
      await go.opened;
      return "done";
    },
  });
  return { tool: work, begun: begun.opened, end: go.open, acted: () => acted };
}

const leaseIn = async (log: MemoryLog) => openHeader((await log.tail("t"))!.entry).thread?.lease;

describe("a run that is alive is never taken for a crashed one:", () => {
  test.each(["atMostOnce", "idempotent"] as const)("a call that is %s is run once", async (effect) => {
    const store = new MemoryStore();
    const work = slowTool({ effect });
    const make = () =>
      agentOf({ model: scriptedModel([callsWork, "ready"]), checkpointer: store.open(), tools: [work.tool] });
    const first = make().run("go", { threadId: "t" });
    await work.begun;
    const second = make().run(undefined, { threadId: "t" });
    await new Promise((resolve) => setTimeout(resolve, 100));
    work.end();
    expect((await Promise.all([first, second])).map(({ text }) => text)).toEqual(["ready", "ready"]);
    expect(work.acted()).toBe(1);
    expect(await store.statuses()).toEqual(["succeeded"]);
  });

  test("a call in flight is not asked what became of it", async () => {
    const store = new MemoryStore();
    let verified = 0;
    const work = slowTool({
      verify: () => {
        verified++;
        return { outcome: "not-done" };
      },
    });
    const make = () =>
      agentOf({ model: scriptedModel([callsWork, "ready"]), checkpointer: store.open(), tools: [work.tool] });
    const first = make().run("go", { threadId: "t" });
    await work.begun;
    const second = make().run(undefined, { threadId: "t" });
    work.end();
    await Promise.all([first, second]);
    expect({ acted: work.acted(), verified }).toEqual({ acted: 1, verified: 0 });
  });

  test("of two approvals, the second is refused, and the tool runs once", async () => {
    const store = new MemoryStore();
    const work = slowTool({ needsApproval: true });
    const make = () =>
      agentOf({ model: scriptedModel([callsWork, "ready"]), checkpointer: store.open(), tools: [work.tool] });
    await make().run("go", { threadId: "t" });
    const approve = () =>
      agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work.tool] }).answer({
        threadId: "t",
        id: "c/approval",
        response: { decision: "approve" },
      });
    const first = approve();
    await work.begun;
    const second = failureOf(() => approve());
    work.end();
    expect(await first).toMatchObject({ text: "ready" });
    expect(await second).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("answered already") });
    expect(work.acted()).toBe(1);
  });

  test("two calls on one agent follow one another, in their order", async () => {
    const store = new MemoryStore();
    const agent = agentOf({ model: scriptedModel(["one", "two", "three"]), checkpointer: store.open() });
    const runs = ["1", "2", "3"].map((prompt) => agent.run(prompt, { threadId: "t" }));
    expect((await Promise.all(runs)).map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect(await store.lines()).toHaveLength(6);
    const waited = await Promise.all(runs.map(async (run) => ofType(await eventsOf(run), "waiting").length));
    expect(waited).toEqual([0, 1, 1]);
  });
});

describe("while another run has the thread", () => {
  async function busy(store: MemoryStore, ttlMs = 15_000): Promise<{ run: Promise<unknown>; end: () => void }> {
    const work = slowTool();
    const model = scriptedModel([callsWork, "ready"]);
    const run = agentOf({ model, checkpointer: store.open(), tools: [work.tool], lease: { ttlMs } }).run("go", {
      threadId: "t",
    });
    await work.begun;
    return { run: Promise.resolve(run), end: work.end };
  }

  test("who does not want to wait is refused, and told who has it and until when", async () => {
    const store = new MemoryStore();
    const { run, end } = await busy(store);
    const model = scriptedModel([]);
    const failure = await failureOf(() =>
      agentOf({ model, checkpointer: store.open() }).run("2", { threadId: "t", whenBusy: "reject" }),
    );
    expect(failure).toMatchObject({ code: "CONFLICT", context: { threadId: "t", written: "no" } });
    expect(failure.message).toMatch(/a run of an agent holds it \(process 1, until \d{4}-.*Z/);
    expect(model.requests).toHaveLength(0);
    end();
    await run;
  });

  test("in the same process, too", async () => {
    const agent = agentOf({
      model: scriptedModel(["one"]),
      checkpointer: new MemoryStore().open(),
      whenBusy: "reject",
    });
    const first = agent.run("1", { threadId: "t" });
    expect((await failureOf(() => agent.run("2", { threadId: "t" }))).message).toContain("another run of this process");
    await first;
  });

  test("who waits says so and for whom; the wait has a bound", async () => {
    const store = new MemoryStore();
    const { run, end } = await busy(store);
    const waiting = agentOf({ model: scriptedModel([]), checkpointer: store.open(), lease: { waitMs: 80 } }).run("2", {
      threadId: "t",
    });
    expect(await eventsOf(waiting)).toMatchObject([{ type: "waiting", holder: "process 1", until: expect.any(Date) }]);
    expect(await failureOf(() => waiting)).toMatchObject({ code: "CONFLICT" });
    end();
    await run;
  });

  test("a save from a script is refused and says why; reading, forking and deleting are not", async () => {
    const store = new MemoryStore();
    const { run, end } = await busy(store);
    const script = store.open();
    const state = (await script.load("t"))!;
    const failure = await failureOf(() => script.save(state.withMessage(userMessage("x")), "t"));
    expect(failure.message).toContain("a run of an agent holds it");
    await script.fork("t", "u");
    end();
    await run;
    const after = (await script.load("t"))!;
    await script.save(after.withMessage(userMessage("x")), "t");
    expect(await script.delete("t")).toBe(true);
  });

  test("a holder that died on this machine is taken over at once", async () => {
    const store = new MemoryStore();
    await busy(store, 600_000);
    store.killAll();
    const tools = [tool({ name: "work", execute: () => "again" })];
    const next = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools });
    expect(await next.run(undefined, { threadId: "t" })).toMatchObject({ text: "ready" });
    expect(await store.statuses()).toEqual(["unknown"]);
  });

  test("a holder that may be alive is taken over when its lease has ended", async () => {
    const store = new MemoryStore();
    const work = slowTool();
    const asleep = agentOf({
      model: scriptedModel([callsWork]),
      checkpointer: store.open(),
      tools: [work.tool],
      lease: { ttlMs: 2_000 },
    }).run("go", { threadId: "t" });
    await work.begun;
    // A process that is stopped renews nothing.
    const stop = vi.spyOn(store.log, "append");
    const { id: mine, expiresAt } = (await leaseIn(store.log))!;
    const append = MemoryLog.prototype.append.bind(store.log);
    stop.mockImplementation((threadId, request) =>
      openHeader(request.record).thread?.lease?.id === mine ? new Promise(() => undefined) : append(threadId, request),
    );
    const next = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work.tool] });
    const run = next.run(undefined, { threadId: "t" });
    expect(await run).toMatchObject({ text: "ready" });
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
    expect(ofType(await eventsOf(run), "waiting")).toHaveLength(1);
    stop.mockRestore();
    void asleep;
  });
});

test("a lease that was lost during a run is CONFLICT and not cancelled", async () => {
  const store = new MemoryStore();
  const work = slowTool();
  const run = agentOf({
    model: scriptedModel([callsWork, "ready"]),
    checkpointer: store.open(),
    tools: [work.tool],
  }).run("go", { threadId: "t" });
  await work.begun;
  store.killAll();
  await agentOf({ model: scriptedModel(["other"]), checkpointer: store.open(), tools: [work.tool] }).run(undefined, {
    threadId: "t",
  });
  work.end();
  expect(await failureOf(() => run)).toMatchObject({ code: "CONFLICT" });
});

test("it costs no write of its own: taken, renewed and given back with the run's saves", async () => {
  // A claim waits a while for the others to be written together. Here that while never passes, however busy the machine is.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const log = new BreakingLog();
  const store = new MemoryStore(log);
  const work = tool({ name: "work", execute: () => "done" });
  const slowly = (step: ScriptStep) => async () => {
    await turnsPass();
    return step;
  };
  const model = scriptedModel(["hi", callsWork, "ready"].map(slowly));
  const agent = agentOf({ model, checkpointer: store.open(), tools: [work] });
  await agent.run("hello", { threadId: "t" });
  expect(log.appends).toBe(2);
  expect(await leaseIn(log)).toBeUndefined();
  await agent.run("go", { threadId: "t" });
  expect(log.appends - 2, "words; calls and claims; result; answer").toBe(4);
  expect(await leaseIn(log)).toBeUndefined();
});

test("a run that saves nothing for a while gives signs of life", async () => {
  const store = new MemoryStore();
  const work = slowTool();
  const model = scriptedModel([callsWork, "ready"]);
  const run = agentOf({ model, checkpointer: store.open(), tools: [work.tool], lease: { ttlMs: 60 } }).run("go", {
    threadId: "t",
  });
  await work.begun;
  const before = (await leaseIn(store.log))!;
  await expect.poll(async () => (await leaseIn(store.log))!.expiresAt).toBeGreaterThan(before.expiresAt + 60);
  work.end();
  expect(await run).toMatchObject({ text: "ready" });
  expect((await store.log.readTail("t"))!.records.length, "its marks replace one another").toBeLessThanOrEqual(6);
});

test("the lease is given back when a run fails, is cancelled, or waits for a person", async () => {
  const store = new MemoryStore();
  const asks = tool({ name: "work", needsApproval: true, execute: () => "done" });
  const model = scriptedModel([new Error("no"), callsWork, "ready"]);
  const agent = agentOf({ model, checkpointer: store.open(), tools: [asks] });
  await failureOf(() => agent.run("go", { threadId: "t" }));
  expect(await leaseIn(store.log)).toBeUndefined();
  expect((await agent.run(undefined, { threadId: "t" })).stopReason).toBe("pending");
  expect(await leaseIn(store.log)).toBeUndefined();
  await agent.run(undefined, { threadId: "t", signal: AbortSignal.abort() });
  expect(await leaseIn(store.log)).toBeUndefined();
});
