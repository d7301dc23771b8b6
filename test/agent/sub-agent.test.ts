import { describe, expect, test } from "vitest";
import { type Tool, type ToolContext, tool } from "../../src/agent/tool-call/tool.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { MOST_WAITING } from "../../src/checkpoint/signals/mailbox.ts";
import type { Model } from "../../src/models/model.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { userMessage } from "../../src/state/message.ts";
import { parentOf } from "../../src/state/tool-calls.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const ASK = { toolCalls: [{ name: "clerk", id: "c", arguments: { prompt: "book it" } }] };
const BOOK: readonly ScriptStep[] = [{ toolCalls: [{ name: "book", id: "b" }] }, "it is booked"];

interface Family {
  readonly store?: MemoryStore;
  readonly parent?: readonly ScriptStep[];
  readonly child?: Model;
  readonly childTools?: readonly Tool[];
}

const book = (execute: (context: ToolContext) => unknown, options: object = {}) =>
  tool({ name: "book", ...options, execute: (_: unknown, context) => execute(context) });

/** A process with an agent that has a clerk. */
function family({ store = new MemoryStore(), parent = [ASK, "ready"], child, childTools = [] }: Family) {
  const clerk = agentOf({ model: child ?? scriptedModel(BOOK), tools: childTools });
  const model = scriptedModel(parent);
  const tools = [clerk.asTool({ name: "clerk", description: "Books things." })];
  return { store, model, clerk, agent: agentOf({ model, tools, checkpointer: store.open() }) };
}

const childOf = async (store: MemoryStore, threadId = "t"): Promise<string> =>
  (await store.state(threadId)).toolExecutions.findLast(({ childThreadId }) => childThreadId)?.childThreadId ?? "";

describe("an agent as a tool of another", () => {
  test("has a thread of its own, a child of the caller's, kept where that is", async () => {
    const { store, agent, model } = family({ childTools: [book(() => "booked")] });
    const run = agent.run("go", { threadId: "t", metadata: { user: "c42", title: "Mine" } });
    const events = await eventsOf(run);
    expect((await run).text).toBe("ready");
    expect((await store.lines())[2]).toBe("tool: it is booked");
    const child = await childOf(store);
    expect(child.startsWith("t/")).toBe(true);
    expect(await store.lines(child)).toEqual([
      "user: book it",
      "assistant: (calls book)",
      "tool: booked",
      "assistant: it is booked",
    ]);
    const { metadata } = await store.state(child);
    expect(parentOf(metadata)).toEqual({ threadId: "t", toolCallId: "c" });
    expect(metadata).toMatchObject({ user: "c42" });
    expect(metadata).not.toHaveProperty("title");
    const shown = ofType(events, "sub-agent").map(({ event }) => event.type);
    expect(shown).toContain("tool-end");
    expect(model.requests[0]!.tools[0]).toMatchObject({ name: "clerk", description: "Books things." });
  });

  test("what it is about, what it used and what it needs of the context are the caller's", async () => {
    const seen: unknown[] = [];
    const usage = { inputTokens: 5, outputTokens: 2 };
    const steps = [
      { toolCalls: [{ name: "book" }], usage },
      { text: "booked", usage },
    ];
    const { store, agent } = family({
      child: scriptedModel(steps),
      childTools: [book(({ runtime }) => seen.push(runtime))],
    });
    const { usage: used } = await agent.run("go", { threadId: "t", runtime: { db: 1 }, subject: "u1" });
    expect(seen).toEqual([{ db: 1 }]);
    expect(used).toMatchObject({ inputTokens: 10, outputTokens: 4 });
    const [said] = (await store.state(await childOf(store))).messages;
    expect(said?.metadata).toMatchObject({ subject: "u1" });
  });

  test("killed while the sub-agent's tool is at work, both go on and nothing acts twice", async () => {
    const store = new MemoryStore();
    const begun = gate();
    let acted = 0;
    const dying = family({
      store,
      childTools: [
        book(() => {
          acted++;
          begun.open();
          return new Promise(() => undefined);
        }),
      ],
    });
    void dying.agent.run("go", { threadId: "t" }).catch(() => undefined);
    await begun.opened;
    store.killAll();
    const back = family({
      store,
      parent: ["ready"],
      child: scriptedModel(["it may be booked"]),
      childTools: [book(() => acted++)],
    });
    expect((await back.agent.run(undefined, { threadId: "t" })).text).toBe("ready");
    expect(acted).toBe(1);
    expect(await store.statuses(await childOf(store))).toEqual(["unknown"]);
    expect(await store.statuses()).toEqual(["succeeded"]);
    expect((await store.lines())[2]).toBe("tool: it may be booked");
    expect((await store.state(await childOf(store))).messages.filter(({ role }) => role === "user")).toHaveLength(1);
  });

  test("its question waits in the caller's inbox, and is answered through the caller", async () => {
    const store = new MemoryStore();
    const ask = book(async ({ interrupt }) => `seat: ${await interrupt({ question: "Which seat?" })}`);
    const first = family({ store, childTools: [ask] });
    const asked = await first.agent.run("go", { threadId: "t" });
    expect(asked).toMatchObject({ stopReason: "pending", pending: [{ id: "c/b/1", question: "Which seat?" }] });
    const inbox = await store.open().inbox();
    expect(inbox.map(({ threadId, id }) => [threadId, id])).toEqual([["t", "c/b/1"]]);
    const second = family({ store, parent: ["ready"], child: scriptedModel(["done"]), childTools: [ask] });
    const resumed = await second.agent.answer({ threadId: "t", id: "c/b/1", response: "12A" });
    expect(resumed.stopReason).toBe("complete");
    expect((await store.lines(await childOf(store)))[2]).toBe("tool: seat: 12A");
    expect(await store.open().inbox()).toEqual([]);
  });

  test("two questions of a sub-agent are answered one after the other", async () => {
    const ask = book(async ({ interrupt, toolCallId }) => await interrupt({ question: `For ${toolCallId}?` }));
    const calls = ["x", "y"].map((id) => ({ name: "book", id }));
    const { agent, store } = family({ child: scriptedModel([{ toolCalls: calls }, "both"]), childTools: [ask] });
    const asked = await agent.run("go", { threadId: "t" });
    expect(asked.pending.map(({ id }) => id)).toEqual(["c/x/1", "c/y/1"]);
    const one = await agent.answer({ threadId: "t", id: "c/y/1", response: "Y" });
    expect(one).toMatchObject({ stopReason: "pending", pending: [{ id: "c/x/1" }] });
    expect((await agent.answer({ threadId: "t", id: "c/x/1", response: "X" })).stopReason).toBe("complete");
    expect((await store.lines(await childOf(store))).filter((line) => line.startsWith("tool"))).toEqual(
      ["tool: Y", "tool: X"].toSorted(),
    );
  });

  test("a question that is declined is declined there; the sub-agent goes on", async () => {
    const ask = book(({ interrupt }) => interrupt({ question: "Which seat?" }));
    const { agent, store } = family({ childTools: [ask] });
    await agent.run("go", { threadId: "t" });
    const options = { threadId: "t", id: "c/b/1", decline: "no seats" };
    expect((await agent.answer(options)).stopReason).toBe("complete");
    expect(await store.statuses(await childOf(store))).toEqual(["denied"]);
    expect(await store.statuses()).toEqual(["succeeded"]);
  });

  test("an edit that does not fit the sub-agent's tool is asked for again", async () => {
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
    const paid: unknown[] = [];
    const pay = tool({
      name: "book",
      inputSchema: schema,
      needsApproval: true,
      execute: (input) => void paid.push(input),
    });
    const steps = [{ toolCalls: [{ name: "book", id: "b", arguments: { n: 1 } }] }, "done"];
    const { agent } = family({ child: scriptedModel(steps), childTools: [pay] });
    await agent.run("go", { threadId: "t" });
    const answer = (edited: unknown) =>
      agent.answer({ threadId: "t", id: "c/b/approval", response: { decision: "edit", arguments: edited } });
    const again = await answer({ n: "one" });
    expect(again.stopReason).toBe("pending");
    expect(again.pending[0]?.question).toMatch(/The last answer was not taken: the arguments do not fit/);
    expect((await answer({ n: 2 })).stopReason).toBe("complete");
    expect(paid).toEqual([{ n: 2 }]);
  });

  test("a call that is left to be completed makes the caller's pending; completed, the caller goes on", async () => {
    const later = book(({ later: untilThen }) => untilThen());
    const { agent, clerk, store } = family({ childTools: [later] });
    expect((await agent.run("go", { threadId: "t" })).stopReason).toBe("pending");
    const child = await childOf(store);
    const keeper = agentOf({ model: scriptedModel(["it is booked"]), tools: [later], checkpointer: store.open() });
    await keeper.complete({ threadId: child, toolCallId: "b", result: "booked" });
    expect((await agent.run(undefined, { threadId: "t" })).text).toBe("ready");
    expect((await store.lines())[2]).toBe("tool: it is booked");
    expect(clerk).toBeDefined();
  });

  test("a call that it left for later is listed by the caller, and completed through the caller", async () => {
    const later = book(({ later: untilThen }) => untilThen());
    const { agent, store } = family({ childTools: [later] });
    const run = agent.run("go", { threadId: "t" });
    const events = await eventsOf(run);
    expect(await run).toMatchObject({
      stopReason: "pending",
      pending: [{ toolCallId: "c/b", toolName: "book", idempotencyKey: expect.any(String) }],
    });
    expect(ofType(events, "pending")).toMatchObject([{ call: { toolCallId: "c/b", toolName: "book" } }]);
    const back = family({ store, parent: ["ready"], child: scriptedModel(["it is booked"]), childTools: [later] });
    const outcome = { threadId: "t", toolCallId: "c/b", result: "booked" };
    expect(await back.agent.complete(outcome)).toMatchObject({ stopReason: "complete", text: "ready", pending: [] });
    expect((await store.lines(await childOf(store)))[2]).toBe("tool: booked");
    expect((await store.lines())[2]).toBe("tool: it is booked");
    expect((await back.agent.complete(outcome)).text).toBe("ready");
    await expect(back.agent.complete({ ...outcome, result: "sold out" })).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(back.agent.complete({ ...outcome, toolCallId: "c/x" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("an outcome for one whose mailbox is full is given to it by hand, and not lost", async () => {
    const later = book(({ later: untilThen }) => untilThen());
    const { agent, store } = family({ childTools: [later] });
    await agent.run("go", { threadId: "t" });
    const child = await childOf(store);
    const sender = store.open();
    for (let n = 0; n < MOST_WAITING; n++) await sender.send(child, { message: `note ${n}` });
    await sender.send("t", { result: { toolCallId: "c/b", result: "booked" } });
    const back = family({ store, parent: ["ready"], child: scriptedModel(["it is booked"]), childTools: [later] });
    expect(await back.agent.run(undefined, { threadId: "t" })).toMatchObject({ text: "ready", pending: [] });
    expect((await store.lines(child))[2]).toBe("tool: booked");
    expect((await store.lines())[2]).toBe("tool: it is booked");
    const last = family({ store, parent: ["again"], childTools: [later] });
    await last.agent.run("and?", { threadId: "t" });
    expect(await sender.signals("t")).toEqual([]);
    expect((await store.state()).errors).toEqual([]);
  });

  test("two calls that it left for later are completed one by one, also by a sub-agent of the sub-agent", async () => {
    const store = new MemoryStore();
    const later = book(({ later: untilThen }) => untilThen());
    const calls = ["x", "y"].map((id) => ({ name: "book", id }));
    const make = (
      outer: readonly ScriptStep[],
      middleSteps: readonly ScriptStep[],
      innerSteps: readonly ScriptStep[],
    ) => {
      const inner = agentOf({ model: scriptedModel(innerSteps), tools: [later] });
      const middle = agentOf({ model: scriptedModel(middleSteps), tools: [inner.asTool({ name: "inner" })] });
      const tools = [middle.asTool({ name: "clerk" })];
      return agentOf({ model: scriptedModel(outer), tools, checkpointer: store.open() });
    };
    const toInner = { toolCalls: [{ name: "inner", id: "i", arguments: { prompt: "deep" } }] };
    const first = await make([ASK], [toInner], [{ toolCalls: calls }]).run("go", { threadId: "t" });
    expect(first.pending.map(({ toolCallId }) => toolCallId)).toEqual(["c/i/x", "c/i/y"]);
    const one = await make([], [], []).complete({ threadId: "t", toolCallId: "c/i/y", result: "Y" });
    expect(one).toMatchObject({ stopReason: "pending", pending: [{ toolCallId: "c/i/x" }] });
    const last = make(["ready"], ["middle"], ["inner"]);
    expect((await last.complete({ threadId: "t", toolCallId: "c/i/x", result: "X" })).text).toBe("ready");
  });

  test("one whose time is up leaves its calls and the caller's in doubt, where the inbox finds them", async () => {
    const store = new MemoryStore();
    const begun = gate();
    const hang = book(() => {
      begun.open();
      return new Promise(() => undefined);
    });
    const inner = agentOf({ model: scriptedModel(BOOK), tools: [hang] });
    const middle = agentOf({
      model: scriptedModel([{ toolCalls: [{ name: "inner", id: "i", arguments: { prompt: "deep" } }] }]),
      tools: [inner.asTool({ name: "inner" })],
    });
    const clerk = middle.asTool({ name: "clerk", timeoutMs: 300 });
    const agent = agentOf({ model: scriptedModel([ASK, "ready"]), tools: [clerk], checkpointer: store.open() });
    const run = agent.run("go", { threadId: "t" });
    await begun.opened;
    expect((await run).text).toBe("ready");
    const [child, grandchild] = [await childOf(store), await childOf(store, await childOf(store))];
    expect(await store.statuses()).toEqual(["unknown"]);
    expect(await store.statuses(child)).toEqual(["unknown"]);
    expect(await store.statuses(grandchild)).toEqual(["unknown"]);
    const inDoubt = (await store.open().inbox()).filter(({ isInDoubt }) => isInDoubt === true);
    expect(inDoubt.map(({ threadId }) => threadId).toSorted()).toEqual(["t", child, grandchild].toSorted());
  });

  test("one that its own time budget ends in the middle of a call leaves both in doubt", async () => {
    const store = new MemoryStore();
    const hang = book(() => new Promise(() => undefined));
    const clerk = agentOf({ model: scriptedModel(BOOK), tools: [hang], timeBudgetMs: 200 });
    const tools = [clerk.asTool({ name: "clerk" })];
    const agent = agentOf({ model: scriptedModel([ASK, "ready"]), tools, checkpointer: store.open() });
    expect((await agent.run("go", { threadId: "t" })).text).toBe("ready");
    expect(await store.statuses()).toEqual(["unknown"]);
    expect(await store.statuses(await childOf(store))).toEqual(["unknown"]);
  });

  test("what it used and cost counts once, in the run's result and in the thread's totals, also where it is asked twice", async () => {
    const store = new MemoryStore();
    const usage = { inputTokens: 1_000, outputTokens: 100 };
    const prices = { model: { input: 1, output: 10 }, scripted: { input: 1, output: 10 } };
    const ask = book(async ({ interrupt }) => `seat: ${await interrupt({ question: "Which seat?" })}`);
    const make = (parent: readonly ScriptStep[], child: readonly ScriptStep[]) => {
      const clerk = agentOf({ model: scriptedModel(child), tools: [ask] });
      const tools = [clerk.asTool({ name: "clerk" })];
      return agentOf({ model: scriptedModel(parent), tools, checkpointer: store.open(), prices });
    };
    const asks = { toolCalls: [{ name: "book", id: "b" }], usage };
    const first = await make([{ ...ASK, usage }], [asks]).run("go", { threadId: "t" });
    expect(first.usage).toMatchObject({ inputTokens: 2_000, outputTokens: 200 });
    expect(first.cost).toBeCloseTo(0.004);
    const answer = { threadId: "t", id: "c/b/1", response: "12A" };
    const second = await make([{ text: "ready", usage }], [{ text: "booked", usage }]).answer(answer);
    expect(second.usage).toMatchObject({ inputTokens: 2_000, outputTokens: 200 });
    expect(second.cost).toBeCloseTo(0.004);
    const { totals } = await store.state();
    expect(totals).toMatchObject({ inputTokens: 4_000, outputTokens: 400, iterations: 2 });
    expect(totals.cost).toBeCloseTo(0.008);
  });

  test("what one used that failed counts, too", async () => {
    const usage = { inputTokens: 10, outputTokens: 1 };
    const steps = [{ toolCalls: [{ name: "book", id: "b" }], usage }, new ModelError("no model", { retryable: false })];
    const { agent, store } = family({ child: scriptedModel(steps), childTools: [book(() => "booked")] });
    const { usage: used } = await agent.run("go", { threadId: "t" });
    expect(used).toMatchObject({ inputTokens: 10, outputTokens: 1 });
    expect((await store.state()).totals).toMatchObject({ inputTokens: 10, outputTokens: 1 });
  });

  test("what its model could not do is the call's failure", async () => {
    const { agent, store } = family({ child: scriptedModel([new ModelError("no model", { retryable: false })]) });
    await agent.run("go", { threadId: "t" });
    expect((await store.lines())[2]).toBe("tool: no model");
    const limited = family({ child: scriptedModel([{ text: "half", incomplete: true }]) });
    await limited.agent.run("go", { threadId: "t" });
    expect((await limited.store.lines())[2]).toBe('tool: The sub-agent ended as "incomplete". Its last words: half');
  });

  test("an output that its schema checked is the call's result; the prompt is made of the arguments", async () => {
    const store = new MemoryStore();
    const model = scriptedModel(['{"seat": "12A"}']);
    const clerk = agentOf({ model, outputSchema: { type: "object", required: ["seat"] } });
    const inputSchema = { type: "object", properties: { to: { type: "string" } } } as const;
    const asTool = clerk.asTool({ name: "clerk", inputSchema, prompt: ({ to }: { to: string }) => `Fly to ${to}.` });
    const parent = scriptedModel([{ toolCalls: [{ name: "clerk", arguments: { to: "Rome" } }] }, "ready"]);
    await agentOf({ model: parent, tools: [asTool], checkpointer: store.open() }).run("go", { threadId: "t" });
    expect(model.requests[0]!.messages.at(-1)).toMatchObject({ content: "Fly to Rome." });
    expect((await store.lines())[2]).toBe('tool: {"seat":"12A"}');
  });

  test("an answer that a dead process's save brings late is not given twice, and the child goes on with it", async () => {
    const heard: unknown[] = [];
    const ask = book(async ({ interrupt }) => heard.push(await interrupt({ question: "Which seat?" })));
    const store = new MemoryStore();
    await family({ store, childTools: [ask] }).agent.run("go", { threadId: "t" });
    const child = await childOf(store);
    const lands = async (): Promise<void> => {
      const late = store.open();
      const before = await late.load(child);
      const [question] = before?.interrupts ?? [];
      if (before === undefined || question === undefined) throw new Error("nothing waits in the child's thread");
      await late.save(before.withInterrupt({ ...question, answer: { value: "12A", at: 1 } }), child);
    };
    const checkpointer = store.open();
    let looks = 0;
    const load: typeof checkpointer.load = async (...given) => {
      const found = await Checkpointer.prototype.load.apply(checkpointer, given);
      // Right behind the look whether the question still waits.
      if (given[0] === child && ++looks === 1) await lands();
      return found;
    };
    const clerk = agentOf({ model: scriptedModel(["it is booked"]), tools: [ask] });
    const model = scriptedModel(["ready"]);
    const back = agentOf({
      model,
      tools: [clerk.asTool({ name: "clerk" })],
      checkpointer: Object.assign(checkpointer, { load }),
    });
    const ended = await back.answer({ threadId: "t", id: "c/b/1", response: "12A" });
    expect(ended).toMatchObject({ stopReason: "complete", text: "ready" });
    expect(heard).toEqual(["12A"]);
    expect(looks).toBeGreaterThan(1);
    expect(await store.statuses(child)).toEqual(["succeeded"]);
    expect((await store.state(child)).interrupts).toMatchObject([{ answer: { value: "12A", at: 1 } }]);
  });

  test("a sub-agent may have sub-agents; all of them go when the thread is deleted", async () => {
    const store = new MemoryStore();
    const inner = agentOf({ model: scriptedModel(["inner"]) });
    const middle = agentOf({
      model: scriptedModel([{ toolCalls: [{ name: "inner", arguments: { prompt: "deep" } }] }, "middle"]),
      tools: [inner.asTool({ name: "inner" })],
    });
    const model = scriptedModel([{ toolCalls: [{ name: "middle", arguments: { prompt: "go" } }] }, "outer"]);
    const agent = agentOf({ model, tools: [middle.asTool({ name: "middle" })], checkpointer: store.open() });
    await agent.run("go", { threadId: "t" });
    const child = await childOf(store);
    const grandchild = await childOf(store, child);
    expect(await store.lines(grandchild)).toEqual(["user: deep", "assistant: inner"]);
    expect(await agent.thread("t").delete()).toBe(true);
    expect(await store.open().listThreads()).toEqual([]);
  });

  test("recover goes on with the caller and leaves the child to it", async () => {
    const store = new MemoryStore();
    const begun = gate();
    const hang = book(() => {
      begun.open();
      return new Promise(() => undefined);
    });
    void family({ store, childTools: [hang] })
      .agent.run("go", { threadId: "t" })
      .catch(() => undefined);
    await begun.opened;
    store.killAll();
    const back = family({ store, parent: ["ready"], child: scriptedModel(["done"]) });
    expect((await back.agent.recover({ olderThanMs: 0 })).recovered).toEqual([
      { threadId: "t", stopReason: "complete" },
    ]);
  });

  test("without a thread it runs without one, and is cut off with its caller", async () => {
    const { state } = await agentOf({
      model: scriptedModel([ASK, "ready"]),
      tools: [agentOf({ model: scriptedModel(["said"]) }).asTool({ name: "clerk" })],
    }).run(userMessage("go"));
    expect(state.messages[2]?.content).toBe("said");
    const stop = new AbortController();
    const hanging: Model = {
      id: "hanging",
      async *stream() {
        stop.abort();
        await new Promise(() => undefined);
        yield* [];
      },
    };
    const { agent, store } = family({ child: hanging });
    expect((await agent.run("go", { threadId: "t", signal: stop.signal })).stopReason).toBe("cancelled");
    expect(await store.statuses()).toEqual(["started"]);
  });
});
