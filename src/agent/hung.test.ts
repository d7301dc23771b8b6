import { describe, expect, test } from "vitest";
import { agentOf } from "../../test/agent/agent-of.ts";
import { gate } from "../../test/agent/gate.ts";
import { MemoryStore } from "../../test/agent/stored-thread.ts";
import { failureOf } from "../../test/failure-of.ts";
import type { Model } from "../models/model.ts";
import { scriptedModel } from "../testing/models/scripted-model.ts";
import { type Tool, type ToolEffect, tool } from "./tool.ts";

const never = (): Promise<never> => new Promise(() => undefined);

/** Says a word and then neither goes on nor heeds its signal. */
const hungModel = (spoken: () => void = () => undefined): Model => ({
  id: "hung",
  async *stream() {
    yield { type: "text-delta", part: 0, text: "well" } as const;
    spoken();
    await never();
  },
});
const hungTool = (effect: ToolEffect, begun: () => void = () => undefined): Tool =>
  tool({
    name: "work",
    effect,
    execute: () => {
      begun();
      return never();
    },
  });
const works = { toolCalls: [{ name: "work" }] };

describe("11.9: timeBudgetMs ends what hangs", () => {
  test("a model; what it said is kept, and the thread goes on", async () => {
    const store = new MemoryStore();
    const agent = agentOf({ model: hungModel(), checkpointer: store.open(), timeBudgetMs: 50 });
    expect(await agent.run("go", { threadId: "t" })).toMatchObject({ stopReason: "time-budget", text: "well" });
    expect(await store.lines()).toEqual(["user: go", "assistant: well (cut off)"]);
    const next = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), timeBudgetMs: 5_000 });
    expect(await next.run(undefined, { threadId: "t" })).toMatchObject({ stopReason: "complete", text: "ready" });
  });

  test.each(["pure", "idempotent", "atMostOnce"] as const)("a tool (%s); it counts as begun", async (effect) => {
    const store = new MemoryStore();
    const options = { checkpointer: store.open(), tools: [hungTool(effect)] };
    const agent = agentOf({ ...options, model: scriptedModel([works]), timeBudgetMs: 50 });
    expect(await agent.run("go", { threadId: "t" })).toMatchObject({ stopReason: "time-budget" });
    expect(await store.statuses()).toEqual([effect === "pure" ? "intended" : "started"]);
  });

  test("a verification; the call stays open for the next who looks", async () => {
    const store = new MemoryStore();
    const stop = new AbortController();
    const begun = gate();
    const open = (tools: readonly Tool[], timeBudgetMs: number) =>
      agentOf({ model: scriptedModel([works]), checkpointer: store.open(), tools, timeBudgetMs });
    const run = open([hungTool("atMostOnce", begun.open)], 5_000).run("go", { threadId: "t", signal: stop.signal });
    await begun.opened;
    stop.abort();
    await run;
    const verifies = tool({ name: "work", execute: () => "done", verify: never });
    const second = await open([verifies], 50).run(undefined, { threadId: "t" });
    expect(second.stopReason).toBe("time-budget");
    expect(await store.statuses()).toEqual(["started"]);
  });
});

describe("11.9: drain with a deadline ends what hangs", () => {
  test.each(["model", "tool"])("a %s", async (what) => {
    const store = new MemoryStore();
    const begun = gate();
    const model = what === "model" ? hungModel(begun.open) : scriptedModel([works]);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [hungTool("atMostOnce", begun.open)] });
    const run = agent.run("go", { threadId: "t" });
    await begun.opened;
    await agent.drain({ deadlineMs: 20 });
    expect(await run).toMatchObject({ stopReason: "drained" });
    expect((await store.lines())[0]).toBe("user: go");
  });

  test("a run that ends in time is not cut off", async () => {
    const [asked, go] = [gate(), gate()];
    const slow = async (): Promise<string> => {
      asked.open();
      await go.opened;
      return "ready";
    };
    const agent = agentOf({ model: scriptedModel([slow]) });
    const run = agent.run("go");
    await asked.opened;
    const drained = agent.drain({ deadlineMs: 60_000 });
    go.open();
    await drained;
    expect(await run).toMatchObject({ stopReason: "complete", text: "ready" });
  });

  test("an invalid deadline is refused, and nothing is drained", async () => {
    const agent = agentOf({ model: scriptedModel(["hi"]) });
    expect((await failureOf(() => agent.drain({ deadlineMs: -1 }))).code).toBe("INVALID_ARGUMENT");
    expect((await failureOf(() => agent.drain({ deadline: 5 } as object))).message).toMatch(
      /did you mean "deadlineMs"/,
    );
    expect((await agent.run("go")).text).toBe("hi");
  });
});
