import { describe, expect, test } from "vitest";
import { answerPending } from "../../src/agent/tool-call/answering.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { pendingIn } from "../../src/state/pending.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const paid: unknown[] = [];
const pay = tool({ name: "pay", needsApproval: true, execute: () => void paid.push("paid") });
const ask = tool({
  name: "ask",
  execute: async (_, { interrupt }) =>
    `a ${await interrupt({ question: "Which seat?", schema: { enum: ["a", "b"] } })}`,
});
const ship = tool({ name: "ship", execute: (_, { later }) => later() });
const ALL: ScriptStep = {
  toolCalls: [
    { name: "pay", id: "p" },
    { name: "ask", id: "q" },
    { name: "ship", id: "s" },
  ],
};
const IDS = ["p/approval", "q/1", "s/result"];

describe("what waits is one list", () => {
  test("in a run's result, its events, the state and the inbox, and each answered in the same way", async () => {
    const store = new MemoryStore();
    const agent = agentOf({
      model: scriptedModel([ALL, "done"]),
      tools: [pay, ask, ship],
      checkpointer: store.open(),
    });
    const run = agent.run("go", { threadId: "t" });
    const shown = ofType(await eventsOf(run), "pending").map(({ call }) => call);
    const { pending, stopReason, state } = await run;
    expect(stopReason).toBe("pending");
    expect(pending.map(({ id, kind }) => [id, kind])).toEqual([
      ["p/approval", "approval"],
      ["q/1", "question"],
      ["s/result", "external"],
    ]);
    expect(shown.map(({ id }) => id).sort()).toEqual(IDS);
    expect(pendingIn(state)).toEqual(pending);
    const inbox = await store.open().inbox();
    expect(inbox.map(({ threadId: _, metadata: __, ...item }) => item)).toEqual(pending);
    const elsewhere = store.open();
    await answerPending(elsewhere, "t", [
      { id: "p/approval", response: { decision: "approve" }, by: "ann" },
      { id: "q/1", response: "a" },
      { id: "s/result", response: "by rail" },
    ]);
    expect(await store.open().inbox()).toEqual([]);
    const ended = await agent.run(undefined, { threadId: "t" });
    expect([ended.text, ended.pending]).toEqual(["done", []]);
    const lines = (await store.lines()).filter((line) => line.startsWith("tool: "));
    expect(lines.sort()).toEqual(["tool: a a", "tool: by rail", "tool: done"]);
    expect((await store.state()).interrupts[0]?.answer).toMatchObject({ by: "ann" });
  });

  test("an answer that fits nothing is refused to its sender, and nothing is sent", async () => {
    const store = new MemoryStore();
    const agent = agentOf({ model: scriptedModel([ALL]), tools: [pay, ask, ship], checkpointer: store.open() });
    await agent.run("go", { threadId: "t" });
    const there = store.open();
    const refused = async (id: string, response: unknown): Promise<unknown> =>
      (await failureOf(() => answerPending(there, "t", { id, response }))).code;
    expect(await refused("q/1", "z")).toBe("INVALID_ARGUMENT");
    expect(await refused("p/approval", "yes")).toBe("INVALID_ARGUMENT");
    expect(await refused("q/9", "a")).toBe("NOT_FOUND");
    expect((await failureOf(() => answerPending(there, "nowhere", { id: "q/1", response: "a" }))).code).toBe(
      "NOT_FOUND",
    );
    await answerPending(there, "t", { id: "q/1", response: "a" }, { dryRun: true });
    expect(await there.signals("t")).toEqual([]);
  });

  test("an answer that is sent again under its id counts once; another one to the same question is refused", async () => {
    const store = new MemoryStore();
    const agent = agentOf({ model: scriptedModel([ALL]), tools: [pay, ask, ship], checkpointer: store.open() });
    await agent.run("go", { threadId: "t" });
    const there = store.open();
    const answer = { id: "q/1", response: "a" };
    for (let times = 0; times < 2; times++) await answerPending(there, "t", answer, { id: "mine" });
    expect((await there.signals("t")).map(({ id }) => id)).toEqual(["mine"]);
    const other = () => answerPending(there, "t", { ...answer, response: "b" }, { id: "other" });
    expect(await failureOf(other)).toMatchObject({ code: "CONFLICT", message: expect.stringMatching(/sent before/) });
  });

  test("an answer reaches a thread while a process runs it, and conflicts with nothing", async () => {
    const store = new MemoryStore();
    const [begun, go] = [gate(), gate()];
    const slow = tool({
      name: "slow",
      execute: async () => {
        begun.open();
        await go.opened;
        return "slow";
      },
    });
    const steps: ScriptStep[] = [
      {
        toolCalls: [
          { name: "ask", id: "q" },
          { name: "slow", id: "w" },
        ],
      },
      "done",
    ];
    const agent = agentOf({ model: scriptedModel(steps), tools: [ask, slow], checkpointer: store.open() });
    const run = agent.run("go", { threadId: "t" });
    await begun.opened;
    for (let turn = 0; turn < 400 && (await store.open().inbox()).length === 0; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await answerPending(store.open(), "t", { id: "q/1", response: "b" });
    go.open();
    await run;
    const ended = await agent.run(undefined, { threadId: "t" });
    expect(ended.text).toBe("done");
    expect((await store.lines()).filter((line) => line.startsWith("tool: ")).sort()).toEqual([
      "tool: a b",
      "tool: slow",
    ]);
  });
});

describe("a call in doubt", () => {
  const UNKNOWN: readonly ScriptStep[] = [{ toolCalls: [{ name: "act", id: "c" }] }];

  /** A process died in the middle of the call. */
  async function killed(): Promise<MemoryStore> {
    const store = new MemoryStore();
    const begun = gate();
    const act = tool({
      name: "act",
      effect: "atMostOnce",
      execute: () => {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    const agent = agentOf({ model: scriptedModel(UNKNOWN), tools: [act], checkpointer: store.open() });
    agent.run("go", { threadId: "t" }).catch(() => undefined);
    await begun.opened;
    store.killAll();
    return store;
  }

  test("is in the inbox as soon as the process that began it is gone, and before any other runs the thread", async () => {
    const store = await killed();
    const checkpointer = store.open();
    await checkpointer.breakLease("t");
    const state = await store.state();
    expect(state.toolExecutions.map(({ status }) => status)).toEqual(["started"]);
    const items = await checkpointer.inbox();
    const expected = [{ threadId: "t", id: "c/result", kind: "external", toolName: "act", isInDoubt: true }];
    expect(items).toMatchObject(expected.map((item) => expect.objectContaining(item)) as never);
  });

  test("is settled at once where nothing runs the thread: with an answer it took effect, declined it did not", async () => {
    for (const [answer, status] of [
      [{ id: "c/result", response: "receipt 7", by: "ann" }, "succeeded"],
      [{ id: "c/result", decline: "the bank has nothing", by: "ann" }, "failed"],
    ] as const) {
      const store = await killed();
      const checkpointer = store.open();
      await checkpointer.breakLease("t");
      await answerPending(checkpointer, "t", answer);
      expect((await store.state()).toolExecutions).toMatchObject([{ status, settledBy: { by: "ann" } }]);
      expect(await checkpointer.inbox()).toEqual([]);
    }
  });

  test("is settled through the run that holds the thread, where one does", async () => {
    const store = new MemoryStore();
    const [begun, go] = [gate(), gate()];
    const wait = tool({
      name: "wait",
      execute: async () => {
        begun.open();
        await go.opened;
        return "waited";
      },
    });
    const act = tool({ name: "act", effect: "atMostOnce", timeoutMs: 20, execute: () => new Promise(() => undefined) });
    const steps: ScriptStep[] = [...UNKNOWN, "unsure", { toolCalls: [{ name: "wait", id: "w" }] }, "sure"];
    const agent = agentOf({ model: scriptedModel(steps), tools: [act, wait], checkpointer: store.open() });
    const first = await agent.run("go", { threadId: "t" });
    expect(first.pending).toMatchObject([{ id: "c/result", isInDoubt: true }]);
    const second = agent.run("and now?", { threadId: "t" });
    await begun.opened;
    await answerPending(store.open(), "t", { id: "c/result", response: "receipt 7", by: "ann" });
    expect((await store.open().inbox()).map(({ id }) => id)).toEqual([]);
    go.open();
    await second;
    // It may come when the run has ended already: then another one takes it in.
    for (let turn = 0; turn < 400 && (await store.open().signals("t")).length > 0; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await store.state()).toolExecutions[0]).toMatchObject({ status: "succeeded", settledBy: { by: "ann" } });
    expect((await store.lines()).find((line) => line.includes("receipt 7"))).toContain("it took effect");
  });
});
