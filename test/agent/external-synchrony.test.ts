import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type ToolEffect, tool } from "../../src/agent/tool-call/tool.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { type ToolCall, userMessage } from "../../src/state/message.ts";
import { type ScriptedModel, type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { SlowLog } from "./slow-log.ts";
import { MemoryStore } from "./stored-thread.ts";

const SAVE_MS = 60;

/** How many writes were acknowledged when something happened. */
function noting(log: SlowLog): { readonly at: Map<string, number>; note: (what: string) => void } {
  const at = new Map<string, number>();
  return { at, note: (what) => void (at.has(what) || at.set(what, log.acknowledged)) };
}

const working = (effect: ToolEffect, note: (what: string) => void) =>
  tool({
    name: "work",
    inputSchema: { type: "object" },
    effect,
    execute: () => {
      note("tool");
      return "done";
    },
  });

// What checks arguments is loaded with the first call; a claim that waits long for that comes with a later write.
beforeAll(async () => {
  const tools = [working("pure", () => undefined)];
  await agentOf({ model: scriptedModel([calls(1), "ready"]), tools }).run("warm up");
});

const calls = (count: number): ScriptStep => ({
  toolCalls: Array.from({ length: count }, (_, n) => ({ name: "work", arguments: { n } })),
});

test("the model is asked while the user's words are saved, and its words are shown when they are", async () => {
  const log = new SlowLog(SAVE_MS);
  const { at, note } = noting(log);
  const model = scriptedModel([
    () => {
      note("asked");
      return "one two three";
    },
  ]);
  const run = agentOf({ model, checkpointer: new MemoryStore(log).open() }).run("go", { threadId: "t" });
  for await (const { type } of run) note(type);
  expect(at.get("asked")).toBe(0);
  expect(at.get("model-delta")).toBe(1);
  expect(at.get("message"), "the whole answer is shown when it is durable itself").toBe(2);
  expect(log.appends).toBe(2);
});

test("words are shown before their own save: they wait for what their call rests on", async () => {
  const log = new SlowLog(SAVE_MS);
  const first = gate();
  const model = {
    id: "slow",
    async *stream() {
      yield { type: "text-delta", part: 0, text: "one" } as const;
      await first.opened;
      yield { type: "text-delta", part: 0, text: " two" } as const;
      yield {
        type: "finish",
        reason: "stop",
        usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
      } as const;
    },
  };
  const run = agentOf({ model, checkpointer: new MemoryStore(log).open() }).run("go", { threadId: "t" });
  for await (const event of run) if (event.type === "model-delta") first.open();
  expect((await run).text).toBe("one two");
});

test.each(["atMostOnce", "idempotent"] as const)(
  "a tool that is %s begins when the calls and their claims are durable, which is one write",
  async (effect) => {
    // Claims wait a while for one another. Here that while never passes, however busy the machine is.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const log = new SlowLog(SAVE_MS);
    const store = new MemoryStore(log);
    const { at, note } = noting(log);
    const model = scriptedModel([calls(3), "ready"]);
    const run = agentOf({ model, checkpointer: store.open(), tools: [working(effect, note)] }).run("go", {
      threadId: "t",
    });
    for await (const { type } of run) note(type);
    expect(at.get("tool"), "the user's words; the calls").toBe(2);
    expect(at.get("tool-start")).toBe(2);
    expect(at.get("tool-end")).toBe(3);
    expect(log.appends, "words, calls and claims, results, answer").toBe(4);
  },
);

test("claims come with the model's message also where guards, hooks and questions take a moment before them", async () => {
  // Here a while never passes, however busy the machine is.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    const store = new MemoryStore();
    const append = vi.spyOn(store.log, "append");
    const moments = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
    };
    const found: string[] = [];
    const work = tool({
      name: "work",
      inputSchema: { type: "object" },
      needsApproval: async () => {
        await moments(3);
        return false;
      },
      execute: async () => {
        found.push(...(await store.statuses()));
        return "done";
      },
    });
    const hooks = {
      guardCall: async ({ call }: { call: ToolCall }) => {
        await moments((call.arguments as { n: number }).n * 4);
        return undefined;
      },
      beforeTool: () => moments(2),
    };
    const model = scriptedModel([calls(3), "ready"]);
    await agentOf({ model, checkpointer: store.open(), tools: [work], hooks }).run("go", { threadId: "t" });
    expect(found.length).toBe(9);
    expect(found, "what is durable when a tool begins").not.toContain("intended");
    const [words, asked] = append.mock.calls.map(([, { record }]) => Buffer.from(record.body).toString());
    expect(words).not.toContain('"started"');
    expect(asked?.match(/"started"/g)?.length, "claims in the write that brings the message").toBe(3);
  } finally {
    vi.useRealTimers();
  }
});

test("a guard that takes long holds up its own call, not the message that asks for it", async () => {
  const store = new MemoryStore();
  const shown = gate();
  const hooks = {
    guardCall: async () => {
      await shown.opened;
      return undefined;
    },
  };
  const model = scriptedModel([calls(1), "ready"]);
  const tools = [working("atMostOnce", () => undefined)];
  const run = agentOf({ model, checkpointer: store.open(), tools, hooks }).run("go", { threadId: "t" });
  for await (const event of run) {
    if (event.type === "message" && event.message.role === "assistant") shown.open();
  }
  expect((await run).text).toBe("ready");
});

test("a tool that only reads waits for no save, nor does the model after it", async () => {
  const log = new SlowLog(SAVE_MS);
  const { at, note } = noting(log);
  const asked = (what: string, step: ScriptStep) => () => {
    note(what);
    return step;
  };
  const model = scriptedModel([asked("first", calls(1)), asked("second", "ready")]);
  const checkpointer = new MemoryStore(log).open();
  await agentOf({ model, checkpointer, tools: [working("pure", note)] }).run("go", { threadId: "t" });
  expect(Object.fromEntries(at)).toEqual({ first: 0, tool: 0, second: 0 });
});

test("the model is asked while a result is saved; the answer is durable before the run returns", async () => {
  const log = new SlowLog(SAVE_MS);
  const store = new MemoryStore(log);
  const { at, note } = noting(log);
  const last: ScriptStep = () => {
    note("second");
    return "ready";
  };
  const checkpointer = store.open();
  await agentOf({ model: scriptedModel([calls(1), last]), checkpointer, tools: [working("atMostOnce", note)] }).run(
    "go",
    {
      threadId: "t",
    },
  );
  expect(at.get("second"), "its result is not durable yet").toBe(2);
  expect(log.acknowledged).toBe(log.appends);
  expect((await store.lines()).at(-1)).toBe("assistant: ready");
});

test("a model whose provider runs tools is asked when everything before is durable", async () => {
  const log = new SlowLog(SAVE_MS);
  const { at, note } = noting(log);
  const step: ScriptStep = () => {
    note("asked");
    return "ready";
  };
  const model: ScriptedModel = Object.assign(scriptedModel([step]), { runsTools: true });
  await agentOf({ model, checkpointer: new MemoryStore(log).open() }).run("go", { threadId: "t" });
  expect(at.get("asked")).toBe(1);
});

test("a conflict that is found meanwhile ends the call of the model", async () => {
  const store = new MemoryStore();
  const checkpointer = store.open();
  await checkpointer.save(AgentState.create().withMessage(userMessage("before")), "t");
  const [asked, ended] = [gate(), gate()];
  const never: ScriptStep = async ({ signal }) => {
    signal?.addEventListener("abort", ended.open, { once: true });
    asked.open();
    await ended.opened;
    return "?";
  };
  const append = store.log.append.bind(store.log);
  // A writer without a lease comes between the run's load and its first save.
  store.log.append = async (threadId, request) => {
    store.log.append = append;
    await asked.opened;
    const other = store.open();
    await other.save((await other.load("t"))!.withMessage(userMessage("between")), "t");
    return append(threadId, request);
  };
  const run = agentOf({ model: scriptedModel([never]), checkpointer, lease: false }).run("go", { threadId: "t" });
  expect(await failureOf(() => run)).toMatchObject({ code: "CONFLICT" });
  await ended.opened;
  expect((await eventsOf(run)).filter(({ type }) => type === "model-delta")).toEqual([]);
  expect(await store.lines()).toEqual(["user: before", "user: between"]);
});

test("a hook that is called after a step comes after its save", async () => {
  const log = new SlowLog(SAVE_MS);
  const store = new MemoryStore(log);
  const seen: string[] = [];
  const look = (what: string) => async () => void seen.push(`${what}: ${(await store.lines()).length}`);
  const hooks = { afterModel: look("model"), afterTool: look("tool"), afterRun: look("run") };
  const tools = [working("pure", () => undefined)];
  const model = scriptedModel([calls(1), "ready"]);
  await agentOf({ model, checkpointer: store.open(), tools, hooks }).run("go", { threadId: "t" });
  expect(seen).toEqual(["model: 2", "tool: 3", "model: 4", "run: 4"]);
});
