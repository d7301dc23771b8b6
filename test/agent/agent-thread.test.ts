import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { linesOf, MemoryStore } from "./stored-thread.ts";

function setUp(steps: readonly ScriptStep[], execute: () => unknown = () => "worked") {
  const store = new MemoryStore();
  const model = scriptedModel(steps);
  const agent = agentOf({ model, tools: [tool({ name: "work", execute })], checkpointer: store.open() });
  return { store, model, agent, thread: agent.thread("t") };
}

describe("a thread of an agent", () => {
  test("shows its state, now and at a checkpoint, and its history", async () => {
    const { thread } = setUp(["one", "two"]);
    expect(await thread.state()).toBeUndefined();
    const first = await thread.run("a");
    await thread.run("b");
    expect(linesOf((await thread.state())!)).toHaveLength(4);
    expect(linesOf((await thread.state(first.checkpointId))!)).toEqual(["user: a", "assistant: one"]);
    const ids: string[] = [];
    for await (const { checkpointId } of thread.history()) ids.push(checkpointId);
    expect(ids).toContain(first.checkpointId);
  });

  test("is forked at a checkpoint into a thread that runs by itself", async () => {
    const { thread, store } = setUp(["one", "two", "three"]);
    const { checkpointId } = await thread.run("a");
    await thread.run("b");
    const fork = await thread.fork("u", { at: checkpointId! });
    await fork.run("c");
    expect(await store.lines("u")).toEqual(["user: a", "assistant: one", "user: c", "assistant: three"]);
    expect(await store.lines()).toHaveLength(4);
  });

  test("is changed by a function, also before it has begun", async () => {
    const { thread, store } = setUp([]);
    const checkpointId = await thread.update((state) => state.withMessage(userMessage("hello")));
    expect(await store.lines()).toEqual(["user: hello"]);
    await thread.update((state) => state.withMetadata({ user: "c42" }));
    expect((await thread.state())?.metadata).toEqual({ user: "c42" });
    expect((await thread.state(checkpointId))?.metadata).toEqual({});
    await expect(thread.update((() => "text") as never)).rejects.toThrow(/must return the changed state, not a string/);
    await expect(thread.update(AgentState.create() as never)).rejects.toThrow(/takes a function of the state/);
  });

  test("two changes at once, from two processes, are both made", async () => {
    const { store } = setUp([]);
    const threads = [1, 2].map(() => agentOf({ model: scriptedModel([]), checkpointer: store.open() }).thread("t"));
    const say = (text: string) => (state: AgentState) => state.withMessage(userMessage(text));
    await Promise.all(threads.map((thread, index) => thread.update(say(String(index)))));
    expect((await store.lines()).toSorted()).toEqual(["user: 0", "user: 1"]);
  });

  test("a change waits for the run that is under way", async () => {
    const { opened, open } = gate();
    const { thread, store } = setUp([{ toolCalls: [{ name: "work" }] }, "ready"], () => opened);
    const run = thread.run("go");
    await store.holds(2);
    const changed = thread.update((state) => state.withMetadata({ seen: state.messages.length }));
    open();
    await Promise.all([run, changed]);
    expect((await thread.state())?.metadata).toEqual({ seen: 4 });
    expect(await store.statuses()).toEqual(["succeeded"]);
  });

  test("has a title, which a list of threads shows", async () => {
    const { thread, store } = setUp(["one"]);
    await thread.run("a");
    expect(await thread.title()).toBeUndefined();
    await thread.setTitle("About parcels");
    expect(await thread.title()).toBe("About parcels");
    const [summary] = await store.open().listWithMetadata();
    expect(summary?.metadata).toEqual({ title: "About parcels" });
    await thread.setTitle(undefined);
    expect(await thread.title()).toBeUndefined();
  });

  test("is deleted whole", async () => {
    const { thread } = setUp(["one"]);
    await thread.run("a");
    expect(await thread.delete()).toBe(true);
    expect(await thread.state()).toBeUndefined();
    expect(await thread.delete()).toBe(false);
  });

  test("needs an id and an agent that keeps threads", async () => {
    const { agent } = setUp([]);
    expect(() => agent.thread("")).toThrow(/takes the id of a thread/);
    const forgetful = agentOf({ model: scriptedModel([]) });
    await expect(forgetful.thread("t").state()).rejects.toThrow(/needs an agent with a checkpointer/);
  });
});

describe("a run at a checkpoint", () => {
  test("goes on from there; what came after it stays in the history", async () => {
    const { thread, model } = setUp(["one", "two", "three"]);
    const { checkpointId } = await thread.run("a");
    const later = await thread.run("b");
    await thread.run("c", { backTo: checkpointId! });
    expect(linesOf((await thread.state())!)).toEqual(["user: a", "assistant: one", "user: c", "assistant: three"]);
    expect(model.requests[2]!.messages).toHaveLength(3);
    expect(linesOf((await thread.state(later.checkpointId))!)).toContain("assistant: two");
    expect((await thread.state())?.totals.runs).toBe(3);
  });

  test("the ledger keeps what tools did since; a call in doubt stays in doubt", async () => {
    const store = new MemoryStore();
    const begun = gate();
    const agentWith = (steps: readonly ScriptStep[], execute: () => unknown) =>
      agentOf({ model: scriptedModel(steps), tools: [tool({ name: "work", execute })], checkpointer: store.open() });
    const { checkpointId } = await agentWith(["one"], () => "").run("a", { threadId: "t" });
    const killed = agentWith([{ toolCalls: [{ name: "work" }] }], () => {
      begun.open();
      return new Promise(() => undefined);
    });
    void killed.run("b", { threadId: "t" }).catch(() => undefined);
    await begun.opened;
    store.killAll();
    const back = agentWith(["two"], () => "").thread("t");
    await back.run("c", { backTo: checkpointId! });
    expect(await store.lines()).toEqual(["user: a", "assistant: one", "user: c", "assistant: two"]);
    expect(await store.statuses()).toEqual(["unknown"]);
    const [item] = await store.open().inbox();
    expect(item?.threadId).toBe("t");
  });

  test("a call that waited there and was made since is not said to be undone: it is paid once", async () => {
    const store = new MemoryStore();
    const pay = tool({
      name: "pay",
      needsApproval: true,
      inputSchema: { type: "object" },
      execute: () => "receipt 7",
    });
    const steps: ScriptStep[] = [{ toolCalls: ["a", "b"].map((id) => ({ name: "pay", id, arguments: { id } })) }, "ok"];
    const agent = agentOf({ model: scriptedModel(steps), tools: [pay], checkpointer: store.open() });
    const thread = agent.thread("t");
    const { checkpointId } = await thread.run("pay both");
    await thread.answer({ id: "a/approval", response: { decision: "approve" } });
    await thread.run("stop", { backTo: checkpointId! });
    const state = await store.state();
    expect(state.toolExecutions.map(({ toolCallId, status }) => [toolCallId, status])).toEqual([
      ["a", "succeeded"],
      ["b", "failed"],
    ]);
    expect(linesOf(state).slice(2)).toEqual([
      "tool: receipt 7",
      expect.stringContaining("was not run here"),
      "user: stop",
      "assistant: ok",
    ]);
    expect(state.interrupts.map(({ id, answer }) => [id, answer?.value])).toEqual([
      ["a/approval", { decision: "approve" }],
    ]);
  });

  test("nor is one that was begun since: it is in doubt", async () => {
    const store = new MemoryStore();
    const begun = gate();
    const pay = tool({
      name: "pay",
      needsApproval: true,
      execute: () => {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    const agentWith = (...steps: ScriptStep[]) =>
      agentOf({ model: scriptedModel(steps), tools: [pay], checkpointer: store.open() });
    const killed = agentWith({ toolCalls: [{ name: "pay", id: "a" }] }).thread("t");
    const { checkpointId } = await killed.run("pay");
    killed.answer({ id: "a/approval", response: { decision: "approve" } }).catch(() => undefined);
    await begun.opened;
    store.killAll();
    await agentWith("ok").thread("t").run("stop", { backTo: checkpointId! });
    expect(await store.statuses()).toEqual(["unknown"]);
    expect((await store.lines())[2]).toContain("It may have taken effect");
  });

  test("the same message twice goes back once", async () => {
    const { thread, model, store } = setUp(["one", "two", "three"]);
    const { checkpointId } = await thread.run("a");
    await thread.run("b");
    const options = { backTo: checkpointId!, messageId: "m" };
    expect((await thread.run("c", options)).text).toBe("three");
    expect((await thread.run("c", options)).text).toBe("three");
    expect(model.remaining).toBe(0);
    expect(await store.lines()).toHaveLength(4);
  });

  test("a checkpoint that is not there is NOT_FOUND, and nothing is written", async () => {
    const { thread, store, agent } = setUp(["one", "two"]);
    await thread.run("a");
    const before = await store.checkpointIds();
    await expect(thread.run("b", { backTo: "nowhere" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await store.checkpointIds()).toEqual(before);
    expect(() => agent.run("b", { backTo: "c" })).toThrow(/needs a threadId/);
  });
});
