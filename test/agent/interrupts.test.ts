import { expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import type { ScriptStep } from "../../src/testing/models/scripted-model.ts";
import { asksFor, newProcess, paint } from "./painting.ts";
import { MemoryStore } from "./stored-thread.ts";

test.each(["pure", "idempotent", "atMostOnce"] as const)(
  "a tool (%s) that asks ends the run; another process brings the answer and the run goes on",
  async (effect) => {
    const store = new MemoryStore();
    const painted: unknown[] = [];
    const tools = [paint(painted, { effect })];
    const first = await newProcess(store, tools, [asksFor("ann")]).run("go", { threadId: "t" });
    expect(first).toMatchObject({
      stopReason: "pending",
      pending: [{ id: "paint-ann/1", kind: "question", question: "Which colour for ann?" }],
    });
    expect(await store.statuses()).toEqual(["waiting"]);
    expect(painted).toEqual([]);

    const second = newProcess(store, tools, ["ready"]);
    const answer = { threadId: "t", id: "paint-ann/1", response: "red" };
    expect(await second.answer(answer)).toMatchObject({ text: "ready", stopReason: "complete", pending: [] });
    expect(painted).toEqual([["ann", "red"]]);
    expect(await store.lines()).toEqual([
      "user: go",
      "assistant: (calls paint)",
      "tool: painted ann",
      "assistant: ready",
    ]);
  },
);

test("the question is in storage before it is reported", async () => {
  const store = new MemoryStore();
  const run = newProcess(store, [paint([])], [asksFor("ann")]).run("go", { threadId: "t" });
  for await (const event of run) {
    if (event.type !== "pending") continue;
    expect((await store.state()).interrupts).toMatchObject([{ id: event.call.id, question: event.call.question }]);
    return;
  }
  throw new Error("no interrupt was announced");
});

test("several may wait at once and are answered one by one, in any order", async () => {
  const store = new MemoryStore();
  const painted: unknown[] = [];
  const tools = [paint(painted)];
  const asked = await newProcess(store, tools, [asksFor("ann", "bob", "cid")]).run("go", { threadId: "t" });
  expect(asked.pending.map(({ id }) => id).sort()).toEqual(["paint-ann/1", "paint-bob/1", "paint-cid/1"]);
  for (const [who, left] of [
    ["cid", 2],
    ["ann", 1],
  ] as const) {
    const result = await newProcess(store, tools, []).answer({
      threadId: "t",
      id: `paint-${who}/1`,
      response: `${who}'s`,
    });
    expect(result).toMatchObject({ stopReason: "pending" });
    expect(result.pending).toHaveLength(left);
  }
  const last = newProcess(store, tools, ["ready"]);
  await last.answer({ threadId: "t", id: "paint-bob/1", response: "bob's" });
  expect(painted).toEqual([
    ["cid", "cid's"],
    ["ann", "ann's"],
    ["bob", "bob's"],
  ]);
});

test("a call beside one that waits is settled and not run again", async () => {
  const store = new MemoryStore();
  let counted = 0;
  const count = tool({ name: "count", execute: () => ++counted });
  const tools = [paint([]), count];
  const step: ScriptStep = { toolCalls: [{ name: "paint", arguments: { who: "ann" }, id: "p" }, { name: "count" }] };
  await newProcess(store, tools, [step]).run("go", { threadId: "t" });
  await newProcess(store, tools, []).run(undefined, { threadId: "t" });
  await newProcess(store, tools, ["ready"]).answer({ threadId: "t", id: "p/1", response: "red" });
  expect(counted).toBe(1);
});

test("a tool may ask more than once; each answer finds its question", async () => {
  const store = new MemoryStore();
  const both: unknown[] = [];
  const ask = tool({
    name: "ask",
    execute: async (_, context) => {
      both.push([await context.interrupt({ question: "first?" }), await context.interrupt({ question: "second?" })]);
    },
  });
  const step: ScriptStep = { toolCalls: [{ name: "ask", id: "c" }] };
  await newProcess(store, [ask], [step]).run("go", { threadId: "t" });
  const second = await newProcess(store, [ask], []).answer({ threadId: "t", id: "c/1", response: 1 });
  expect(second.pending).toMatchObject([{ id: "c/2", question: "second?" }]);
  await newProcess(store, [ask], ["ready"]).answer({ threadId: "t", id: "c/2", response: 2 });
  expect(both).toEqual([[1, 2]]);
});

test("an answer may be undefined and still be an answer", async () => {
  const store = new MemoryStore();
  const painted: unknown[] = [];
  await newProcess(store, [paint(painted)], [asksFor("ann")]).run("go", { threadId: "t" });
  const second = newProcess(store, [paint(painted)], ["ready"]);
  await second.answer({ threadId: "t", id: "paint-ann/1", response: undefined });
  expect(painted).toEqual([["ann", undefined]]);
});

test("a tool that catches everything cannot go on without the answer", async () => {
  const store = new MemoryStore();
  let acted = 0;
  const careless = tool({
    name: "careless",
    execute: async (_, context) => {
      try {
        await context.interrupt({ question: "may I?" });
      } catch {
        // Swallows whatever comes, as many tools do.
      }
      acted++;
      return "done anyway";
    },
  });
  const agent = newProcess(store, [careless], [{ toolCalls: [{ name: "careless" }] }, "ready"]);
  expect(await agent.run("go", { threadId: "t" })).toMatchObject({ stopReason: "pending" });
  expect({ acted, statuses: await store.statuses() }).toEqual({ acted: 0, statuses: ["waiting"] });
});
