import { describe, expect, test } from "vitest";
import { type ToolEffect, tool } from "../../src/agent/tool-call/tool.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { turnsPass } from "../turns-of-the-loop.ts";
import { agentOf } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

/** Five iterations; notes what another process would find while the model is asked, once the saves beside it are made. */
async function storedAtEachQuestion(every: number | "end", effect: ToolEffect): Promise<readonly number[]> {
  const store = new MemoryStore();
  const counts: number[] = [];
  const ask = (step: ScriptStep): ScriptStep => {
    return async () => {
      await turnsPass();
      counts.push((await store.lines()).length);
      return step;
    };
  };
  const work = tool({
    name: "work",
    inputSchema: { type: "object", properties: { n: { type: "number" } } },
    effect,
    execute: () => "done",
  });
  const steps = [1, 2, 3, 4].map((n) => ask({ toolCalls: [{ name: "work", arguments: { n } }] }));
  const agent = agentOf({
    model: scriptedModel([...steps, ask("ready")]),
    checkpointer: store.open(),
    tools: [work],
    checkpointEveryNIterations: every,
  });
  await agent.run("go", { threadId: "t" });
  expect(await store.lines(), "when the run has returned, all of it is stored").toHaveLength(10);
  return counts;
}

describe("with tools that only read", () => {
  test("every iteration: nothing that was said before the question can be lost", async () => {
    expect(await storedAtEachQuestion(1, "pure")).toEqual([1, 3, 5, 7, 9]);
  });

  test("every second: at most what came since the second iteration before can be lost", async () => {
    expect(await storedAtEachQuestion(2, "pure")).toEqual([1, 1, 5, 5, 9]);
  });

  test("at the end: everything but the prompt can be lost", async () => {
    expect(await storedAtEachQuestion("end", "pure")).toEqual([1, 1, 1, 1, 1]);
  });
});

test.each([2, 100, "end"] as const)("with effects, nothing is lost even when saving every %s", async (every) => {
  expect(await storedAtEachQuestion(every, "atMostOnce")).toEqual([1, 3, 5, 7, 9]);
  expect(await storedAtEachQuestion(every, "idempotent")).toEqual([1, 3, 5, 7, 9]);
});

test("saving at the end, a tool that has effects is recorded as begun while it runs", async () => {
  const store = new MemoryStore();
  let during: readonly string[] = [];
  const work = tool({
    name: "work",
    execute: async () => {
      during = await store.statuses();
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
  const agent = agentOf({ model, checkpointer: store.open(), tools: [work], checkpointEveryNIterations: "end" });
  await agent.run("go", { threadId: "t" });
  expect(during).toEqual(["started"]);
  expect(await store.statuses()).toEqual(["succeeded"]);
});

test("saving at the end, a model that fails in the middle costs nothing: only a crash may", async () => {
  const store = new MemoryStore();
  const look = tool({ name: "look", effect: "pure", execute: () => "seen" });
  const model = scriptedModel([{ toolCalls: [{ name: "look" }] }, new Error("overloaded")]);
  const agent = agentOf({ model, checkpointer: store.open(), tools: [look], checkpointEveryNIterations: "end" });
  await failureOf(() => agent.run("go", { threadId: "t" }));
  expect(await store.lines()).toEqual(["user: go", "assistant: (calls look)", "tool: seen"]);
});

test.each([0, -1, 1.5, Number.NaN, "always"])("%s is refused as a frequency when the agent is made", (every) => {
  const make = (): unknown =>
    agentOf({ model: scriptedModel([]), checkpointEveryNIterations: every as unknown as number });
  expect(make).toThrow(/checkpointEveryNIterations/);
});
