import { describe, expect, test } from "vitest";
import type { LaterOptions } from "../../src/agent/tool-call/later.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const ONE: readonly ScriptStep[] = [{ toolCalls: [{ name: "render", id: "r" }] }, "ready", "later answer"];

function setUp(steps: readonly ScriptStep[] = ONE, options: LaterOptions = {}) {
  const store = new MemoryStore();
  const time = { now: 1_000_000 };
  const begun: string[] = [];
  const render = tool({
    name: "render",
    execute: (_: unknown, { toolCallId, later }) => {
      begun.push(toolCallId);
      return later(options);
    },
  });
  const model = scriptedModel(steps);
  const agent = () => agentOf({ model, tools: [render], checkpointer: store.open(), now: () => time.now });
  return { store, agent, begun, time, model };
}

describe("a tool that answers later", () => {
  test("ends the run as pending, and any process completes the call", async () => {
    const { agent, store, begun } = setUp();
    const run = agent().run("go", { threadId: "t" });
    const events = await eventsOf(run);
    expect(await run).toMatchObject({ stopReason: "pending", pending: [{ toolCallId: "r", toolName: "render" }] });
    expect(ofType(events, "pending")).toMatchObject([{ call: { id: "r/result", kind: "external", toolCallId: "r" } }]);
    expect(await store.statuses()).toEqual(["pending"]);
    const done = await agent().complete({ threadId: "t", toolCallId: "r", result: { url: "x.png" } });
    expect(done).toMatchObject({ stopReason: "complete", text: "ready", pending: [] });
    expect(begun).toEqual(["r"]);
    expect((await store.lines())[2]).toBe('tool: {"url":"x.png"}');
  });

  test("a failure is completed with an error", async () => {
    const { agent, store } = setUp();
    await agent().run("go", { threadId: "t" });
    await agent().complete({ threadId: "t", toolCallId: "r", error: new Error("no paint") });
    expect(await store.statuses()).toEqual(["failed"]);
    expect((await store.lines())[2]).toBe("tool: no paint");
  });

  test("the same outcome twice is one; another one is a CONFLICT", async () => {
    const { agent, model } = setUp();
    await agent().run("go", { threadId: "t" });
    const outcome = { threadId: "t", toolCallId: "r", result: "x.png" };
    expect((await agent().complete(outcome)).text).toBe("ready");
    expect((await agent().complete(outcome)).text).toBe("ready");
    expect(model.remaining).toBe(1);
    await expect(agent().complete({ ...outcome, result: "y.png" })).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(agent().complete({ ...outcome, toolCallId: "s" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("the same outcome with its keys in another order is the same", async () => {
    const { agent } = setUp();
    await agent().run("go", { threadId: "t" });
    const outcome = { threadId: "t", toolCallId: "r" };
    await agent().complete({ ...outcome, result: { url: "x.png", size: { w: 1, h: 2 } } });
    const again = await agent().complete({ ...outcome, result: { size: { h: 2, w: 1 }, url: "x.png" } });
    expect(again.text).toBe("ready");
    const other = { ...outcome, result: { size: { h: 1, w: 2 }, url: "x.png" } };
    await expect(agent().complete(other)).rejects.toMatchObject({ code: "CONFLICT" });
  });

  test("two calls are completed one after the other, in any order", async () => {
    const calls = ["a", "b"].map((id) => ({ name: "render", id }));
    const { agent, store } = setUp([{ toolCalls: calls }, "ready"]);
    await agent().run("go", { threadId: "t" });
    const first = await agent().complete({ threadId: "t", toolCallId: "b", result: "B" });
    expect(first).toMatchObject({ stopReason: "pending", pending: [{ toolCallId: "a" }] });
    const both = await agent().complete({ threadId: "t", toolCallId: "a", result: "A" });
    expect(both.stopReason).toBe("complete");
    expect(await store.statuses()).toEqual(["succeeded", "succeeded"]);
  });

  test("an outcome that comes while the run is still at work waits for its turn", async () => {
    const held = gate();
    const started = gate();
    const store = new MemoryStore();
    const render = tool({ name: "render", execute: (_: unknown, { later }) => later() });
    const wait = tool({
      name: "wait",
      effect: "pure",
      execute: () => {
        started.open();
        return held.opened;
      },
    });
    const steps = [{ toolCalls: [{ name: "render", id: "r" }, { name: "wait" }] }, "ready"];
    const agent = agentOf({ model: scriptedModel(steps), tools: [render, wait], checkpointer: store.open() });
    const run = agent.run("go", { threadId: "t" });
    await started.opened;
    const completed = agent.complete({ threadId: "t", toolCallId: "r", result: "x" });
    held.open();
    expect((await run).stopReason).toBe("pending");
    expect((await completed).stopReason).toBe("complete");
  });

  test("a call that is not completed in time is in doubt, until its outcome comes after all", async () => {
    const { agent, store, time } = setUp(ONE, { deadlineMs: 1000 });
    const { pending } = await agent().run("go", { threadId: "t" });
    expect(pending[0]?.dueAt).toEqual(new Date(time.now + 1000));
    expect((await agent().run(undefined, { threadId: "t" })).stopReason).toBe("pending");
    time.now += 1000;
    expect((await agent().run(undefined, { threadId: "t" })).stopReason).toBe("complete");
    expect(await store.statuses()).toEqual(["unknown"]);
    expect(await store.open().inbox()).toMatchObject([{ threadId: "t", id: "r/result", isInDoubt: true }]);
    const late = await agent().complete({ threadId: "t", toolCallId: "r", result: "x" });
    expect([late.stopReason, late.pending]).toEqual(["complete", []]);
    expect(await store.statuses()).toEqual(["succeeded"]);
    expect((await store.lines()).find((line) => line.startsWith("tool: "))).toContain("it took effect. The result: x");
  });

  test("recover leaves a call alone that is in time, and goes on when it is overdue", async () => {
    const { agent, time } = setUp(ONE, { deadlineMs: 1000 });
    await agent().run("go", { threadId: "t" });
    expect((await agent().recover({ olderThanMs: 0 })).recovered).toEqual([]);
    time.now = Date.now() + 10_000;
    expect((await agent().recover({ olderThanMs: 0 })).recovered).toEqual([{ threadId: "t", stopReason: "complete" }]);
  });

  test("new words are refused while a call is pending, unless they decline what waits", async () => {
    const { agent, store } = setUp();
    await agent().run("go", { threadId: "t" });
    await expect(agent().run("and?", { threadId: "t" })).rejects.toMatchObject({ code: "PENDING" });
    expect((await agent().run("forget it", { threadId: "t", declinePending: "moved on" })).stopReason).toBe("complete");
    expect(await store.statuses()).toEqual(["unknown"]);
  });

  test("in a fork the call is not pending: its outcome belongs to the thread that began it", async () => {
    const { agent, store } = setUp();
    await agent().run("go", { threadId: "t" });
    await store.open().fork("t", "u", { openCalls: "keep" });
    expect(await store.statuses("u")).toEqual(["unknown"]);
    expect(await store.statuses("t")).toEqual(["pending"]);
  });

  test("what the process that began it could not write down any more is completed all the same", async () => {
    const { store, agent } = setUp();
    const begun = gate();
    const killed = tool({
      name: "render",
      execute: () => {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    const dying = agentOf({ model: scriptedModel(ONE), tools: [killed], checkpointer: store.open() });
    void dying.run("go", { threadId: "t" }).catch(() => undefined);
    await begun.opened;
    store.killAll();
    const next = agentOf({ model: scriptedModel(["ready"]), tools: [killed], checkpointer: store.open() });
    const done = await next.complete({ threadId: "t", toolCallId: "r", result: "x" });
    expect(done.stopReason).toBe("complete");
    expect(await store.statuses()).toEqual(["succeeded"]);
    expect(agent).toBeDefined();
  });

  test("without a thread that is kept nothing can wait: the call fails", async () => {
    const render = tool({ name: "render", execute: (_: unknown, { later }) => later() });
    const { state } = await agentOf({ model: scriptedModel(ONE), tools: [render] }).run("go");
    expect(state.toolExecutions[0]?.status).toBe("failed");
  });

  test("complete() without what it needs says what to write", () => {
    const complete = (given: unknown) => () =>
      setUp()
        .agent()
        .complete(given as never);
    expect(complete("t")).toThrow(/takes one object/);
    expect(complete({ threadId: "t", result: 1 })).toThrow(/needs toolCallId/);
    expect(complete({ threadId: "t", toolCallId: "r" })).toThrow(/needs a result or an error/);
    expect(complete({ threadId: "t", toolCallId: "r", output: 1 })).toThrow(/has no option "output"/);
  });
});
