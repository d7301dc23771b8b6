import { describe, expect, test } from "vitest";
import { type ToolContext, type ToolEffect, tool } from "../../src/agent/tool-call/tool.ts";
import type { Model, ModelRequest } from "../../src/models/model.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const finish = { type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 } };

/** Says a few words, then waits for the signal as a connection would. */
function talkingModel(words: string, spoken: () => void): Model {
  return {
    id: "talking",
    async *stream({ signal }: ModelRequest) {
      if (words !== "") yield { type: "text-delta", part: 0, text: words } as const;
      spoken();
      await new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      yield finish as never;
    },
  };
}

describe("cancelled while the model speaks:", () => {
  test("the signal reaches the model, the run ends as cancelled, and what was said is kept as cut off", async () => {
    const store = new MemoryStore();
    const [spoken, stop] = [gate(), new AbortController()];
    const agent = agentOf({ model: talkingModel("I would", spoken.open), checkpointer: store.open() });
    const run = agent.run("go", { threadId: "t", signal: stop.signal });
    await spoken.opened;
    stop.abort();
    expect(await run).toMatchObject({ stopReason: "cancelled", text: "I would" });
    expect(await store.lines()).toEqual(["user: go", "assistant: I would (cut off)"]);
  });

  test("the thread can be resumed, and the model is not shown its half sentence", async () => {
    const store = new MemoryStore();
    const [spoken, stop] = [gate(), new AbortController()];
    const agent = agentOf({ model: talkingModel("I would", spoken.open), checkpointer: store.open() });
    const run = agent.run("go", { threadId: "t", signal: stop.signal });
    await spoken.opened;
    stop.abort();
    await run;
    const model = scriptedModel(["ready"]);
    const resumed = agentOf({ model, checkpointer: store.open() }).run(undefined, { threadId: "t" });
    expect(await resumed).toMatchObject({ text: "ready", stopReason: "complete" });
    expect(model.requests[0]?.messages).toEqual([{ role: "user", content: "go" }]);
  });

  test("before it said anything, no empty answer is left in the conversation", async () => {
    const store = new MemoryStore();
    const [spoken, stop] = [gate(), new AbortController()];
    const agent = agentOf({ model: talkingModel("", spoken.open), checkpointer: store.open() });
    const run = agent.run("go", { threadId: "t", signal: stop.signal });
    await spoken.opened;
    stop.abort();
    expect(await run).toMatchObject({ stopReason: "cancelled" });
    expect(await store.lines()).toEqual(["user: go"]);
  });

  test("a model that does not heed the signal does not hold the run", async () => {
    const store = new MemoryStore();
    const [spoken, stop] = [gate(), new AbortController()];
    const deaf: Model = {
      id: "deaf",
      async *stream() {
        yield { type: "text-delta", part: 0, text: "and" } as const;
        spoken.open();
        await new Promise(() => undefined);
      },
    };
    const run = agentOf({ model: deaf, checkpointer: store.open() }).run("go", { threadId: "t", signal: stop.signal });
    await spoken.opened;
    stop.abort();
    expect(await run).toMatchObject({ stopReason: "cancelled" });
  });
});

describe("cancelled while a tool runs:", () => {
  async function cancelInTool(
    effect: ToolEffect,
    work: (context: ToolContext, running: () => void) => unknown,
  ): Promise<{ store: MemoryStore; stopReason: string; attempts: number; resume: () => Promise<number> }> {
    const store = new MemoryStore();
    const [running, stop] = [gate(), new AbortController()];
    let attempts = 0;
    const tools = (body: (context: ToolContext) => unknown) => [
      tool({
        name: "work",
        effect,
        execute: (_, context) => {
          attempts++;
          return body(context);
        },
      }),
    ];
    const agent = agentOf({
      model: scriptedModel([{ toolCalls: [{ name: "work" }] }]),
      checkpointer: store.open(),
      tools: tools((context) => work(context, running.open)),
    });
    const run = agent.run("go", { threadId: "t", signal: stop.signal });
    await running.opened;
    stop.abort(new Error("the user left"));
    const { stopReason } = await run;
    const resume = async (): Promise<number> => {
      const model = scriptedModel(["ready"]);
      const fresh = agentOf({ model, checkpointer: store.open(), tools: tools(() => "done") });
      expect(await fresh.run(undefined, { threadId: "t" })).toMatchObject({ stopReason: "complete" });
      return attempts;
    };
    return { store, stopReason, attempts, resume };
  }

  const untilAborted = (context: ToolContext, running: () => void): Promise<never> =>
    new Promise((_, reject) => {
      context.signal.addEventListener("abort", () => reject(context.signal.reason), { once: true });
      running();
    });

  test("the signal reaches the tool with its reason", async () => {
    let reason: unknown;
    await cancelInTool("atMostOnce", (context, running) => {
      const stopped = untilAborted(context, running);
      stopped.catch((error: Error) => {
        reason = error.message;
      });
      return stopped;
    });
    expect(reason).toBe("the user left");
  });

  test.each(["pure", "idempotent"] as const)("a tool that is %s runs again when resumed", async (effect) => {
    const { stopReason, resume, store } = await cancelInTool(effect, untilAborted);
    expect(stopReason).toBe("cancelled");
    expect(await resume()).toBe(2);
    expect(await store.statuses()).toEqual(["succeeded"]);
  });

  test("a tool that acts at most once does not run again when resumed", async () => {
    const { resume, store } = await cancelInTool("atMostOnce", untilAborted);
    expect(await store.statuses()).toEqual(["started"]);
    expect(await resume()).toBe(1);
    expect(await store.statuses()).toEqual(["unknown"]);
  });

  test("a tool that finishes all the same has its result kept", async () => {
    const { resume, store, stopReason } = await cancelInTool("atMostOnce", async (context, running) => {
      running();
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      return "finished first";
    });
    expect(stopReason).toBe("cancelled");
    expect((await store.lines()).at(-1)).toBe("tool: finished first");
    expect(await resume()).toBe(1);
  });

  test("a tool that does not heed the signal does not hold the run", async () => {
    const { stopReason } = await cancelInTool("atMostOnce", (_, running) => {
      running();
      return new Promise(() => undefined);
    });
    expect(stopReason).toBe("cancelled");
  });
});

test("cancelled between the claim and the tool: it never ran, and is run when resumed", async () => {
  const store = new MemoryStore();
  const stop = new AbortController();
  let ran = 0;
  const work = tool({ name: "work", execute: () => ++ran });
  const agent = agentOf({
    model: scriptedModel([{ toolCalls: [{ name: "work" }] }]),
    checkpointer: store.open(),
    tools: [work],
    hooks: { beforeTool: () => stop.abort() },
  });
  expect(await agent.run("go", { threadId: "t", signal: stop.signal })).toMatchObject({ stopReason: "cancelled" });
  expect(ran).toBe(0);
  const fresh = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work] });
  await fresh.run(undefined, { threadId: "t" });
  expect({ ran, statuses: await store.statuses() }).toEqual({ ran: 1, statuses: ["succeeded"] });
});

test("a signal that aborted before the run: the prompt is kept, no model is asked", async () => {
  const store = new MemoryStore();
  const model = scriptedModel([]);
  const run = agentOf({ model, checkpointer: store.open() }).run("go", { threadId: "t", signal: AbortSignal.abort() });
  expect(await run).toMatchObject({ stopReason: "cancelled" });
  expect(await store.lines()).toEqual(["user: go"]);
});

test("cancelling one run leaves another run of the same agent alone", async () => {
  const stop = new AbortController();
  const [spoken, go] = [gate(), gate()];
  const slow: Model = {
    id: "slow",
    async *stream({ signal }) {
      spoken.open();
      await Promise.race([go.opened, new Promise((_, reject) => signal?.addEventListener("abort", () => reject()))]);
      yield { type: "text-delta", part: 0, text: "ready" } as const;
      yield finish as never;
    },
  };
  const agent = agentOf({ model: slow });
  const [cancelled, other] = [agent.run("one", { signal: stop.signal }), agent.run("two")];
  await spoken.opened;
  stop.abort();
  await cancelled;
  go.open();
  expect(await other).toMatchObject({ stopReason: "complete", text: "ready" });
});
