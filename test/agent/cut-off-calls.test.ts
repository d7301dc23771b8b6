import { describe, expect, test } from "vitest";
import {
  type Tool,
  type ToolContext,
  type ToolEffect,
  tool,
  type VerifiedOutcome,
} from "../../src/agent/tool-call/tool.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

interface Attempt {
  readonly key: string;
  readonly attempt: number;
}

interface Aftermath {
  readonly attempts: readonly Attempt[];
  readonly lines: readonly string[];
  readonly statuses: readonly string[];
}

/** One process begins the call and is never heard of again; a second one resumes the thread. */
async function cutOff(options: {
  readonly effect: ToolEffect;
  readonly verify?: (input: unknown, context: ToolContext) => VerifiedOutcome | Promise<VerifiedOutcome>;
}): Promise<Aftermath> {
  const store = new MemoryStore();
  const begun = gate();
  const attempts: Attempt[] = [];
  const work = (hangs: boolean) =>
    tool({
      name: "work",
      ...options,
      execute: (_input, { idempotencyKey, attempt }) => {
        attempts.push({ key: idempotencyKey, attempt });
        begun.open();
        return hangs ? new Promise(() => undefined) : "done";
      },
    });
  const first = scriptedModel([{ toolCalls: [{ name: "work" }] }]);
  void agentOf({ model: first, checkpointer: store.open(), tools: [work(true)] })
    .run("go", { threadId: "t" })
    .catch(() => undefined);
  await begun.opened;
  await store.holds(2);
  store.killAll();
  const second = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work(false)] });
  await second.run(undefined, { threadId: "t" });
  return { attempts, lines: await store.lines(), statuses: await store.statuses() };
}

test.each(["idempotent", "pure"] as const)("a call that is %s runs again under the same key", async (effect) => {
  const { attempts, lines, statuses } = await cutOff({ effect });
  expect(attempts).toHaveLength(2);
  expect(attempts[0]?.key).toBe(attempts[1]?.key);
  expect(lines).toEqual(["user: go", "assistant: (calls work)", "tool: done", "assistant: ready"]);
  expect(statuses).toEqual(["succeeded"]);
});

test("an idempotent call is told that it is not the first attempt", async () => {
  const { attempts } = await cutOff({ effect: "idempotent" });
  expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
});

test("a call that may run at most once is not run again, and the model is told that its outcome is unknown", async () => {
  const { attempts, lines, statuses } = await cutOff({ effect: "atMostOnce" });
  expect(attempts).toHaveLength(1);
  expect(statuses).toEqual(["unknown"]);
  expect(lines[2]).toMatch(/^tool: .*outcome is unknown.*verify/);
});

describe("a tool that can verify", () => {
  test("is asked with the key of the attempt that was cut off", async () => {
    let asked: string | undefined;
    const { attempts } = await cutOff({
      effect: "atMostOnce",
      verify: (_input, { idempotencyKey }) => {
        asked = idempotencyKey;
        return { outcome: "unknown" };
      },
    });
    expect(asked).toBe(attempts[0]?.key);
  });

  test("and finds it done: the result it found counts, and nothing runs again", async () => {
    const { attempts, lines, statuses } = await cutOff({
      effect: "atMostOnce",
      verify: () => ({ outcome: "done", result: { receipt: 7 } }),
    });
    expect(attempts).toHaveLength(1);
    expect(statuses).toEqual(["succeeded"]);
    expect(lines[2]).toBe('tool: {"receipt":7}');
  });

  test("and finds it not done: it runs again under the same key", async () => {
    const { attempts, statuses } = await cutOff({ effect: "atMostOnce", verify: () => ({ outcome: "not-done" }) });
    expect(attempts).toHaveLength(2);
    expect(attempts[0]?.key).toBe(attempts[1]?.key);
    expect(statuses).toEqual(["succeeded"]);
  });

  test("and cannot tell: it is not run again", async () => {
    const { attempts, statuses } = await cutOff({ effect: "atMostOnce", verify: () => ({ outcome: "unknown" }) });
    expect(attempts).toHaveLength(1);
    expect(statuses).toEqual(["unknown"]);
  });

  test("and asks a person instead: that is no verification, and the run does not hang", async () => {
    const { attempts, statuses } = await cutOff({
      effect: "atMostOnce",
      verify: async (_input, context) => ({ outcome: "done", result: await context.interrupt({ question: "done?" }) }),
    });
    expect(attempts).toHaveLength(1);
    expect(statuses).toEqual(["unknown"]);
  });

  test("and fails at it: it is not run again, and the thread is not stuck", async () => {
    const { attempts, statuses } = await cutOff({
      effect: "atMostOnce",
      verify: () => {
        throw new Error("the ledger service is down");
      },
    });
    expect(attempts).toHaveLength(1);
    expect(statuses).toEqual(["unknown"]);
  });
});

test("a call that was intended and never begun runs as if for the first time", async () => {
  const store = new MemoryStore();
  const asked = gate();
  const attempts: number[] = [];
  const work = tool({ name: "work", execute: (_, { attempt }) => void attempts.push(attempt) });
  const dies = agentOf({
    model: scriptedModel([{ toolCalls: [{ name: "work" }] }]),
    checkpointer: store.open(),
    tools: [work],
    hooks: {
      afterModel: () => {
        asked.open();
        return new Promise(() => undefined);
      },
    },
  });
  void dies.run("go", { threadId: "t" }).catch(() => undefined);
  await asked.opened;
  expect(await store.statuses()).toEqual(["intended"]);
  store.killAll();
  const second = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work] });
  await second.run(undefined, { threadId: "t" });
  expect(attempts).toEqual([1]);
});

describe("a call that was begun and cannot be run since:", () => {
  /**
   * The process dies in the call; then the program changes, and another process continues the
   * thread.
   */
  async function afterDeath(then: {
    readonly tools: readonly Tool[];
    readonly change?: (store: MemoryStore) => Promise<void>;
  }): Promise<Aftermath> {
    const store = new MemoryStore();
    const begun = gate();
    const pay = tool({
      name: "pay",
      inputSchema: { type: "object" },
      execute: () => {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    const first = scriptedModel([{ toolCalls: [{ name: "pay", arguments: { amount: 1 } }] }]);
    void agentOf({ model: first, checkpointer: store.open(), tools: [pay] })
      .run("go", { threadId: "t" })
      .catch(() => undefined);
    await begun.opened;
    await store.holds(2);
    store.killAll();
    await then.change?.(store);
    const second = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: then.tools });
    await second.run(undefined, { threadId: "t" });
    return { attempts: [], lines: await store.lines(), statuses: await store.statuses() };
  }
  const never = (): never => {
    throw new Error("it must not run");
  };

  test("its tool has another name: its outcome is unknown, and the model is told both", async () => {
    const renamed = tool({ name: "pay_card", inputSchema: { type: "object" }, execute: never });
    const { lines, statuses } = await afterDeath({ tools: [renamed] });
    expect(statuses).toEqual(["unknown"]);
    expect(lines[2]).toMatch(/may have taken effect.*There is no tool named "pay"/);
  });

  test("its tool takes other arguments: its outcome is unknown", async () => {
    const inputSchema = { type: "object", properties: { cents: { type: "number" } }, required: ["cents"] } as const;
    const { lines, statuses } = await afterDeath({ tools: [tool({ name: "pay", inputSchema, execute: never })] });
    expect(statuses).toEqual(["unknown"]);
    expect(lines[2]).toMatch(/may have taken effect.*The arguments do not fit/);
  });

  test("its arguments were changed in storage: its outcome is unknown", async () => {
    const tools = [tool({ name: "pay", inputSchema: { type: "object" }, execute: never })];
    const change = async (store: MemoryStore): Promise<void> => {
      const editor = store.open();
      const state = (await editor.load("t"))!;
      const messages = JSON.parse(JSON.stringify(state.messages).replace('"amount":1', '"amount":2'));
      await editor.save(state.withHistory(messages), "t");
    };
    const { statuses } = await afterDeath({ tools, change });
    expect(statuses).toEqual(["unknown"]);
  });
});

test("settled siblings of a call that was cut off keep their results and do not run again", async () => {
  const store = new MemoryStore();
  const settled = gate();
  const ran: string[] = [];
  const schema = { type: "object", properties: { who: { type: "string" } } } as const;
  const work = (isFirst: boolean) =>
    tool({
      name: "work",
      inputSchema: schema,
      effect: "idempotent",
      execute: (input) => {
        const { who } = input as { who: string };
        ran.push(who);
        return who === "slow" && isFirst ? new Promise(() => undefined) : `${who} done`;
      },
    });
  const toolCalls = ["quick", "slow"].map((who) => ({ name: "work", arguments: { who } }));
  const dies = agentOf({
    model: scriptedModel([{ toolCalls }]),
    checkpointer: store.open(),
    tools: [work(true)],
    hooks: { afterTool: () => settled.open() },
  });
  void dies.run("go", { threadId: "t" }).catch(() => undefined);
  await settled.opened;
  store.killAll();
  const second = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work(false)] });
  await second.run(undefined, { threadId: "t" });
  expect(ran).toEqual(["quick", "slow", "slow"]);
  expect((await store.lines()).slice(2)).toEqual(["tool: quick done", "tool: slow done", "assistant: ready"]);
});

test("a recorded call whose arguments were changed in storage is not run", async () => {
  const store = new MemoryStore();
  const checkpointer = store.open();
  let ran = 0;
  const work = tool({ name: "work", inputSchema: { type: "object" }, execute: () => ++ran });
  const dies = agentOf({
    model: scriptedModel([{ toolCalls: [{ name: "work", arguments: { amount: 1 } }] }]),
    checkpointer,
    tools: [work],
    maxIterations: 1,
    hooks: {
      beforeTool: () => {
        throw new Error("stop here");
      },
    },
  });
  await dies.run("go", { threadId: "t" }).then(undefined, () => undefined);
  const state = await store.state();
  const messages = JSON.parse(JSON.stringify(state.messages).replace('"amount":1', '"amount":1000000'));
  const editor = store.open();
  await editor.save((await editor.load("t"))!.withHistory(messages), "t");
  const second = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work] });
  await second.run(undefined, { threadId: "t" });
  expect(ran).toBe(0);
  expect(await store.statuses()).toEqual(["failed"]);
});

test("a call that the ledger never saw is not known to be harmless: it is not run", async () => {
  const store = new MemoryStore();
  let ran = 0;
  const work = tool({ name: "work", execute: () => ++ran });
  const importer = store.open();
  const imported = AgentState.create().withMessages([
    { role: "user", content: "go" },
    { role: "assistant", content: "", toolCalls: [{ id: "elsewhere", name: "work", arguments: {} }] },
  ]);
  await importer.save(imported, "t");
  const agent = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work] });
  await agent.run(undefined, { threadId: "t" });
  expect(ran).toBe(0);
  expect(await store.statuses()).toEqual(["unknown"]);
});
