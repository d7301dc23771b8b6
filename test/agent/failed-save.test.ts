import { describe, expect, test } from "vitest";
import { RunError } from "../../src/agent/run/run-error.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { textOf, userMessage } from "../../src/state/message.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { BreakingLog } from "../altered-log.ts";
import { failureOf } from "../failure-of.ts";
import { InterruptedLog } from "../interrupted-log.ts";
import { turnsPass } from "../turns-of-the-loop.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

/** Breaks the storage from within a run, once the prompt is saved. */
const breaks = (log: BreakingLog, moment: "before" | "after", step: ScriptStep): ScriptStep => {
  return async () => {
    await new MemoryStore(log).holds(1);
    await turnsPass();
    log.failures.push(moment);
    return step;
  };
};

describe("an answer that could not be saved", () => {
  test.each(["before", "after"] as const)("(broken %s the write) is raised with the answer", async (moment) => {
    const log = new BreakingLog();
    const store = new MemoryStore(log);
    const agent = agentOf({ model: scriptedModel([breaks(log, moment, "forty-two")]), checkpointer: store.open() });
    const failure = await failureOf(() => agent.run("go", { threadId: "t" }));
    expect(failure).toBeInstanceOf(RunError);
    expect(failure).toMatchObject({ code: "UNAVAILABLE", retryable: true, text: "forty-two" });
    expect(textOf((failure as RunError).state.messages.at(-1)!)).toBe("forty-two");
  });

  test("can be saved by hand once the storage is back", async () => {
    const log = new BreakingLog();
    const store = new MemoryStore(log);
    const checkpointer = store.open();
    const agent = agentOf({ model: scriptedModel([breaks(log, "after", "forty-two")]), checkpointer });
    const failure = (await failureOf(() => agent.run("go", { threadId: "t" }))) as RunError;
    await checkpointer.save(failure.state, "t");
    expect(await store.lines()).toEqual(["user: go", "assistant: forty-two"]);
  });
});

test("a save that fails and may pass is made again, and the caller notices nothing", async () => {
  const log = new BreakingLog();
  const checkpointer = new Checkpointer(log, { retry: { attempts: 4, baseDelayMs: 1 } });
  log.failures.push("before", "after");
  const agent = agentOf({ model: scriptedModel([breaks(log, "after", "forty-two")]), checkpointer });
  expect(await agent.run("go", { threadId: "t" })).toMatchObject({ text: "forty-two" });
  expect(await new MemoryStore(log).lines()).toEqual(["user: go", "assistant: forty-two"]);
});

test("a prompt that could not be saved: the model's call is ended, and the caller sees nothing of it", async () => {
  const log = new BreakingLog();
  const ended = gate();
  const never: ScriptStep = async ({ signal }) => {
    signal?.addEventListener("abort", ended.open, { once: true });
    await ended.opened;
    return "?";
  };
  log.failures.push("before", "before");
  const run = agentOf({ model: scriptedModel([never]), checkpointer: new MemoryStore(log).open() }).run("go", {
    threadId: "t",
  });
  expect(await eventsOf(run)).toEqual([]);
  expect((await failureOf(() => run)).code).toBe("UNAVAILABLE");
});

test.each([
  ["after", false, 1],
  ["before", true, 0],
] as const)(
  "a prompt that may be there, behind which others saved and a vacuum left no trace of it, is not said again (broken %s the write)",
  async (moment, lease, times) => {
    const log = new InterruptedLog();
    await log.othersAdd(1);
    const checkpointer = new Checkpointer(log, { retry: { attempts: 2, baseDelayMs: 1 } });
    log.meanwhile = async () => {
      await log.othersAdd(3);
      await log.vacuum();
    };
    log.failures.push(moment);
    const agent = agentOf({ model: scriptedModel(["?"]), checkpointer, lease });
    const failure = await failureOf(() => agent.run("go", { threadId: "t" }));
    expect(failure).toMatchObject({ code: "CONFLICT", context: { written: "unknown" } });
    expect(await log.timesSaid("go")).toBe(times);
  },
);

test("a change of the thread that cannot be told from one that was made is not made again", async () => {
  const log = new InterruptedLog();
  await log.othersAdd(1);
  const checkpointer = new Checkpointer(log, { retry: { attempts: 2, baseDelayMs: 1 } });
  log.meanwhile = async () => {
    await log.othersAdd(3);
    await log.vacuum();
  };
  log.failures.push("before");
  const thread = agentOf({ model: scriptedModel([]), checkpointer }).thread("t");
  const failure = await failureOf(() => thread.update((state) => state.withMessage(userMessage("mine"))));
  expect(failure).toMatchObject({ code: "CONFLICT", context: { written: "unknown" } });
  expect(await log.timesSaid("mine")).toBe(0);
});

test("a call whose beginning could not be saved is not begun", async () => {
  const log = new BreakingLog();
  const store = new MemoryStore(log);
  let ran = 0;
  const work = tool({ name: "work", execute: () => ++ran });
  const agent = agentOf({
    model: scriptedModel([{ toolCalls: [{ name: "work" }] }]),
    checkpointer: store.open(),
    tools: [work],
    hooks: { afterModel: () => void log.failures.push("before", "before") },
  });
  await failureOf(() => agent.run("go", { threadId: "t" }));
  expect(ran).toBe(0);
  log.failures.length = 0;
  const resumed = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work] });
  await resumed.run(undefined, { threadId: "t" });
  expect(ran).toBe(1);
});

test("an outcome that cannot be saved for a while is saved when the storage is back, and a warning says so", async () => {
  const log = new BreakingLog();
  const store = new MemoryStore(log);
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
  const work = tool({
    name: "work",
    execute: () => {
      log.failures.push("before", "after");
      return "paid";
    },
  });
  const run = agentOf({ model, checkpointer: store.open(), tools: [work] }).run("go", { threadId: "t" });
  const warnings = ofType(await eventsOf(run), "warning");
  expect(warnings).toMatchObject([
    { where: "save", error: { code: "UNAVAILABLE" } },
    { where: "save", error: { code: "UNAVAILABLE" } },
  ]);
  expect(await store.lines()).toEqual(["user: go", "assistant: (calls work)", "tool: paid", "assistant: ready"]);
  expect(await store.statuses()).toEqual(["succeeded"]);
});

test("one call whose outcome could not be saved does not cost the outcome of the call beside it", async () => {
  const log = new BreakingLog();
  const store = new MemoryStore(log);
  let settled: () => void = () => undefined;
  const failed = new Promise<void>((resolve) => {
    settled = resolve;
  });
  const quick = tool({
    name: "quick",
    execute: () => {
      log.failures.push("before");
      setImmediate(settled);
      return "quick";
    },
  });
  const slow = tool({
    name: "slow",
    execute: async () => {
      await failed;
      return "slow";
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "quick" }, { name: "slow" }] }]);
  const agent = agentOf({ model, checkpointer: store.open(), tools: [quick, slow] });
  await failureOf(() => agent.run("go", { threadId: "t" }));
  expect(await store.statuses()).toEqual(["succeeded", "succeeded"]);
});

test("metadata that cannot be stored is refused before anything happens", async () => {
  const store = new MemoryStore();
  const model = scriptedModel(["?"]);
  const agent = agentOf({ model, checkpointer: store.open() });
  const failure = await failureOf(() => agent.run("go", { threadId: "t", metadata: { callback: () => 1 } }));
  expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("callback") });
  expect(model.requests).toHaveLength(0);
});

test("a lease that cannot be given back does not cost the answer", async () => {
  const log = new BreakingLog();
  const store = new MemoryStore(log);
  const agent = agentOf({
    model: scriptedModel(["forty-two"]),
    checkpointer: store.open(),
    lease: true,
    hooks: { afterRun: () => void log.failures.push("before") },
  });
  expect(await agent.run("go", { threadId: "t" })).toMatchObject({ text: "forty-two" });
  expect(await store.lines()).toEqual(["user: go", "assistant: forty-two"]);
});
