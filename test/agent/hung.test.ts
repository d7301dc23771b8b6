import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Tool, type ToolEffect, tool } from "../../src/agent/tool-call/tool.ts";
import type { Model } from "../../src/models/model.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

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

const HOUR = 3_600_000;

/** Time passes for a run that hangs, and only then: a busy machine would spend a short budget before anything hangs. */
async function passAfter(begun: Promise<void>): Promise<void> {
  await begun;
  vi.advanceTimersByTime(HOUR);
}

describe("timeBudgetMs ends what hangs", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true }));
  afterEach(() => void vi.useRealTimers());

  test("a model; what it said is kept, and the thread goes on", async () => {
    const store = new MemoryStore();
    const begun = gate();
    const agent = agentOf({ model: hungModel(begun.open), checkpointer: store.open(), timeBudgetMs: HOUR });
    const run = agent.run("go", { threadId: "t" });
    await passAfter(begun.opened);
    expect(await run).toMatchObject({ stopReason: "time-budget", text: "well" });
    expect(await store.lines()).toEqual(["user: go", "assistant: well (cut off)"]);
    const next = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), timeBudgetMs: HOUR });
    expect(await next.run(undefined, { threadId: "t" })).toMatchObject({ stopReason: "complete", text: "ready" });
  });

  test.each(["pure", "idempotent", "atMostOnce"] as const)("a tool (%s); it counts as begun", async (effect) => {
    const store = new MemoryStore();
    const begun = gate();
    const options = { checkpointer: store.open(), tools: [hungTool(effect, begun.open)] };
    const agent = agentOf({ ...options, model: scriptedModel([works]), timeBudgetMs: HOUR });
    const run = agent.run("go", { threadId: "t" });
    await passAfter(begun.opened);
    expect(await run).toMatchObject({ stopReason: "time-budget" });
    expect(await store.statuses()).toEqual([effect === "pure" ? "intended" : "started"]);
  });

  test("a verification; the call stays open for the next who looks", async () => {
    const store = new MemoryStore();
    const stop = new AbortController();
    const [begun, looking] = [gate(), gate()];
    const open = (tools: readonly Tool[]) =>
      agentOf({ model: scriptedModel([works]), checkpointer: store.open(), tools, timeBudgetMs: HOUR });
    const run = open([hungTool("atMostOnce", begun.open)]).run("go", { threadId: "t", signal: stop.signal });
    await begun.opened;
    stop.abort();
    await run;
    const verify = (): Promise<never> => {
      looking.open();
      return never();
    };
    const second = open([tool({ name: "work", execute: () => "done", verify })]).run(undefined, { threadId: "t" });
    await passAfter(looking.opened);
    expect((await second).stopReason).toBe("time-budget");
    expect(await store.statuses()).toEqual(["started"]);
  });
});

describe("drain with a deadline ends what hangs", () => {
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
