import { describe, expect, test, vi } from "vitest";
import type { RunResult } from "../../src/agent/events.ts";
import type { RunLimits } from "../../src/agent/run/limits.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const look = tool({ name: "look", inputSchema: { type: "object" }, effect: "pure", execute: () => "seen" });
const submit = tool({ name: "submit", inputSchema: { type: "object" }, terminal: true, execute: () => "submitted" });
const looks = (n: number, usage = { inputTokens: 10, outputTokens: 5 }): ScriptStep => ({
  toolCalls: [{ name: "look", arguments: { n } }],
  usage,
});
const endless = (count = 30): ScriptStep[] => Array.from({ length: count }, (_, n) => looks(n));

async function run(
  steps: readonly ScriptStep[],
  limits: RunLimits & { readonly now?: () => number },
  store: MemoryStore = new MemoryStore(),
  prompt = "go",
): Promise<RunResult> {
  const options = { checkpointer: store.open(), tools: [look, submit], ...limits };
  return agentOf({ ...options, model: scriptedModel(steps) }).run(prompt, { threadId: "t" });
}

test("a run asks the model at most maxIterations times", async () => {
  expect(await run(endless(), { maxIterations: 3 })).toMatchObject({ stopReason: "max-iterations", iterations: 3 });
});

test("by default it asks at most twenty times", async () => {
  expect(await run(endless(), {})).toMatchObject({ stopReason: "max-iterations", iterations: 20 });
});

test("an answer in the last iteration allowed is an answer", async () => {
  expect(await run([looks(1), "ready"], { maxIterations: 2 })).toMatchObject({ stopReason: "complete", text: "ready" });
});

test("the calls of the last iteration allowed are run and stored, not left open", async () => {
  const store = new MemoryStore();
  await run(endless(), { maxIterations: 1 }, store);
  expect(await store.lines()).toEqual(["user: go", "assistant: (calls look)", "tool: seen"]);
});

test("a run stops when its tokens are spent", async () => {
  expect(await run(endless(), { tokenBudget: 40 })).toMatchObject({ stopReason: "token-budget", iterations: 3 });
});

test("a run stops when its time is up", async () => {
  let clock = 0;
  const result = await run(endless(), { timeBudgetMs: 1000, now: () => (clock += 100) });
  expect(result.stopReason).toBe("time-budget");
});

test.each([1, -1])(
  "the clock is set by %i days in the middle of a run: that spends nothing of its time budget",
  async (days) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const setClock: ScriptStep = async () => {
        vi.setSystemTime(Date.now() + days * 86_400_000);
        return looks(1);
      };
      expect(await run([setClock, "ready"], { timeBudgetMs: 60_000 })).toMatchObject({ text: "ready" });
    } finally {
      vi.useRealTimers();
    }
  },
);

test("stopWhen sees the state and the counts, and stops the run", async () => {
  const seen: number[] = [];
  const stopWhen: NonNullable<RunLimits["stopWhen"]> = async ({ iterations, state, usage }) => {
    seen.push(iterations, state.messages.length, usage.inputTokens);
    return iterations === 2;
  };
  expect(await run(endless(), { stopWhen })).toMatchObject({ stopReason: "stopped", iterations: 2 });
  expect(seen).toEqual([0, 1, 0, 1, 3, 10, 2, 5, 20]);
});

test("a terminal tool that succeeds ends the run", async () => {
  const result = await run([looks(1), { text: "here", toolCalls: [{ name: "submit" }] }], {});
  expect(result).toMatchObject({ stopReason: "terminal-tool", text: "here" });
});

test("a terminal tool that fails does not end the run", async () => {
  const fails = tool({
    name: "submit",
    terminal: true,
    execute: () => {
      throw new Error("rejected");
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "submit" }] }, "I could not"]);
  expect(await agentOf({ model, tools: [fails] }).run("go")).toMatchObject({ stopReason: "complete" });
});

describe("the same call again and again", () => {
  const same = { toolCalls: [{ name: "look", arguments: { a: 1, b: 2 } }] };

  test("stops the run", async () => {
    const result = await run([same, same, same, same], { toolLoopThreshold: 3 });
    expect(result).toMatchObject({ stopReason: "tool-loop", iterations: 3 });
  });

  test("is the same whatever the order of its arguments' keys", async () => {
    const turned = { toolCalls: [{ name: "look", arguments: { b: 2, a: 1 } }] };
    expect(await run([same, turned, same, turned], {})).toMatchObject({ stopReason: "tool-loop", iterations: 3 });
  });

  test("with other arguments is no loop", async () => {
    expect(await run([looks(1), looks(2), looks(3), looks(4), "ready"], {})).toMatchObject({ stopReason: "complete" });
  });

  test("with something else in between is no loop", async () => {
    expect(await run([same, same, looks(9), same, same, "ready"], {})).toMatchObject({ stopReason: "complete" });
  });
});

describe("a new run of the thread does not inherit", () => {
  test("spent iterations: each turn has all of them", async () => {
    const store = new MemoryStore();
    for (const turn of [1, 2, 3]) {
      const result = await run([looks(1), "ready"], { maxIterations: 2 }, store, `turn ${turn}`);
      expect(result).toMatchObject({ stopReason: "complete", iterations: 2 });
    }
  });

  test("limits of another agent: the limits of this one hold", async () => {
    const store = new MemoryStore();
    expect((await run(endless(), { maxIterations: 2 }, store)).stopReason).toBe("max-iterations");
    expect(await run([...endless(5), "ready"], { maxIterations: 100 }, store, "go on")).toMatchObject({
      stopReason: "complete",
      iterations: 6,
    });
  });

  test("spent tokens or time", async () => {
    const store = new MemoryStore();
    await run(endless(), { tokenBudget: 15 }, store);
    expect(await run(["ready"], { tokenBudget: 15 }, store, "and?")).toMatchObject({ stopReason: "complete" });
    let clock = 0;
    const now = (): number => (clock += 100);
    await run(endless(), { timeBudgetMs: 500, now }, store, "again");
    expect(await run(["ready"], { timeBudgetMs: 5000, now }, store, "and?")).toMatchObject({ stopReason: "complete" });
  });

  test("the end by a terminal tool", async () => {
    const store = new MemoryStore();
    await run([{ toolCalls: [{ name: "submit" }] }], {}, store);
    expect(await run(["hello"], {}, store, "hi")).toMatchObject({ text: "hello", stopReason: "complete" });
  });

  test("the end by a tool loop", async () => {
    const store = new MemoryStore();
    const same: ScriptStep = { toolCalls: [{ name: "look", arguments: {} }] };
    expect((await run([same, same, same], {}, store)).stopReason).toBe("tool-loop");
    expect(await run([same, "ready"], {}, store, "hi")).toMatchObject({ text: "ready", stopReason: "complete" });
  });
});

test("what a run was stopped at is stored and goes on without a prompt", async () => {
  const store = new MemoryStore();
  await run(endless(), { maxIterations: 1 }, store);
  const agent = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [look] });
  expect(await agent.run(undefined, { threadId: "t" })).toMatchObject({ text: "ready", stopReason: "complete" });
  expect(await store.lines()).toHaveLength(4);
});

test("a thread that a terminal tool ended stays ended without a prompt", async () => {
  const store = new MemoryStore();
  await run([{ toolCalls: [{ name: "submit" }] }], {}, store);
  const agent = agentOf({ model: scriptedModel([]), checkpointer: store.open(), tools: [submit] });
  expect(await agent.run(undefined, { threadId: "t" })).toMatchObject({ stopReason: "terminal-tool", iterations: 0 });
});

test("also after a deployment in which that tool is gone: its message sent again is not answered anew", async () => {
  const store = new MemoryStore();
  const model = scriptedModel([{ toolCalls: [{ name: "submit" }] }]);
  const said = { threadId: "t", messageId: "m1" };
  await agentOf({ model, checkpointer: store.open(), tools: [submit] }).run("go", said);
  const agent = agentOf({ model: scriptedModel([]), checkpointer: store.open(), tools: [look] });
  expect(await agent.run("go", said)).toMatchObject({ stopReason: "terminal-tool", iterations: 0 });
});

test.each([
  ["maxIterations", 0],
  ["tokenBudget", -1],
  ["timeBudgetMs", Number.NaN],
  ["toolLoopThreshold", 0],
])("%s of %s is refused when the agent is made", (name, value) => {
  const make = (): unknown => agentOf({ model: scriptedModel([]), [name]: value });
  expect(make).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining(name) }));
});

describe("limits of one run", () => {
  test("come before those of the agent", async () => {
    const agent = agentOf({ model: scriptedModel(endless()), tools: [look], maxIterations: 9 });
    expect(await agent.run("go", { maxIterations: 2 })).toMatchObject({
      stopReason: "max-iterations",
      stopDetail: "2 model calls (maxIterations)",
    });
    expect(await agent.run("go", { tokenBudget: 1 })).toMatchObject({ stopDetail: "1 tokens (tokenBudget)" });
  });

  test("are refused where they are out of range", () => {
    const agent = agentOf({ model: scriptedModel([]) });
    expect(() => agent.run("go", { maxIterations: 0 })).toThrow(/maxIterations must be a number greater than 0/);
  });
});

test("the same call whose result changes is no loop: it looks whether something is done", async () => {
  let asked = 0;
  const poll = tool({ name: "poll", effect: "pure", execute: () => (++asked < 6 ? `waiting (${asked})` : "done") });
  const steps: ScriptStep[] = [...Array.from({ length: 6 }, () => ({ toolCalls: [{ name: "poll" }] })), "ready"];
  expect(await agentOf({ model: scriptedModel(steps), tools: [poll] }).run("go")).toMatchObject({
    stopReason: "complete",
    text: "ready",
  });
});

test("a loop says which calls it was made of", async () => {
  const events = await eventsOf(
    agentOf({ model: scriptedModel(Array.from({ length: 9 }, () => looks(1))), tools: [look] }).run("go"),
  );
  expect(events.at(-1)).toEqual({
    type: "run-end",
    stopReason: "tool-loop",
    stopDetail: "look gave the same result 3 times in a row (toolLoopThreshold)",
  });
});
