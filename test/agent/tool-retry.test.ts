import { describe, expect, test } from "vitest";
import { type ToolContext, type ToolOptions, tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const script = () => scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);

function setUp(execute: (context: ToolContext) => unknown, options: Partial<ToolOptions<never>> = {}) {
  const store = new MemoryStore();
  const work = tool({
    name: "work",
    effect: "idempotent",
    retry: { attempts: 3, backoff: 0 },
    ...options,
    execute: (_: unknown, context) => execute(context),
  });
  const agent = (model = script()) => agentOf({ model, tools: [work], checkpointer: store.open() });
  return { store, agent };
}

describe("a tool with retry", () => {
  test("is tried again with the same key, and each failure is recorded", async () => {
    const seen: unknown[] = [];
    const { agent, store } = setUp(({ idempotencyKey, attempt }) => {
      seen.push([idempotencyKey, attempt]);
      if (attempt < 3) throw new Error(`failure ${attempt}`);
      return "worked";
    });
    const events = await eventsOf(agent().run("go", { threadId: "t" }));
    const [execution] = (await store.state()).toolExecutions;
    const key = execution!.idempotencyKey;
    expect(seen).toEqual([
      [key, 1],
      [key, 2],
      [key, 3],
    ]);
    expect(execution).toMatchObject({
      status: "succeeded",
      attempts: 3,
      failures: [
        { attempt: 1, error: "failure 1" },
        { attempt: 2, error: "failure 2" },
      ],
    });
    expect(execution).not.toHaveProperty("retryAt");
    expect(ofType(events, "tool-retry").map(({ attempt, error }) => [attempt, error])).toEqual([
      [1, "failure 1"],
      [2, "failure 2"],
    ]);
    expect(await store.lines()).toEqual(["user: go", "assistant: (calls work)", "tool: worked", "assistant: ready"]);
  });

  test("that fails every time ends with its last failure", async () => {
    const { agent, store } = setUp(({ attempt }) => {
      throw new Error(`failure ${attempt}`);
    });
    await agent().run("go", { threadId: "t" });
    expect((await store.state()).toolExecutions[0]).toMatchObject({
      status: "failed",
      attempts: 3,
      error: "failure 3",
    });
  });

  test("that is killed in a pause goes on from the attempt that it had reached", async () => {
    const attempts: number[] = [];
    const failed = gate();
    const { agent, store } = setUp(
      ({ attempt }) => {
        attempts.push(attempt);
        if (attempt < 3) throw new Error("not yet");
        return "worked";
      },
      { retry: { attempts: 3, backoff: (attempt: number) => (attempts.length === 1 && attempt === 1 ? 60_000 : 0) } },
    );
    const run = agent().run("go", { threadId: "t" });
    void (async () => {
      for await (const event of run) if (event.type === "tool-retry") failed.open();
    })().catch(() => undefined);
    await failed.opened;
    expect((await store.state()).toolExecutions[0]).toMatchObject({ status: "intended", attempts: 1 });
    store.killAll();
    attempts.push(0);
    await agent(scriptedModel(["ready"])).run(undefined, { threadId: "t" });
    expect(attempts).toEqual([1, 0, 2, 3]);
  });

  test("a run that is cancelled in a pause leaves the call to the next run", async () => {
    const stop = new AbortController();
    const { agent, store } = setUp(
      ({ attempt }) => {
        if (attempt > 1) return "worked";
        throw new Error("not yet");
      },
      { retry: { attempts: 2, backoff: (attempt: number) => (stop.signal.aborted ? 0 : 60_000 * attempt) } },
    );
    const run = agent().run("go", { threadId: "t", signal: stop.signal });
    for await (const event of run) if (event.type === "tool-retry") stop.abort();
    expect((await run).stopReason).toBe("cancelled");
    expect(await store.statuses()).toEqual(["intended"]);
    await agent(scriptedModel(["ready"])).run(undefined, { threadId: "t" });
    expect(await store.statuses()).toEqual(["succeeded"]);
  });

  test("a fork does not repeat a call that failed once: it may have taken effect", async () => {
    const stop = new AbortController();
    const { agent, store } = setUp(
      () => {
        throw new Error("not yet");
      },
      { retry: { attempts: 2, backoff: 60_000 } },
    );
    const run = agent().run("go", { threadId: "t", signal: stop.signal });
    for await (const event of run) if (event.type === "tool-retry") stop.abort();
    await store.open().fork("t", "u", { openCalls: "keep" });
    expect(await store.statuses("u")).toEqual(["unknown"]);
  });

  test.each<[options: Partial<ToolOptions<never>>, says: RegExp]>([
    [{ effect: "atMostOnce" }, /one with retry must be effect: "idempotent"/],
    [{ retry: { attempts: 0 } }, /retry\.attempts must be a whole number from 1 on/],
    [{ retry: { attempts: 2, backoff: -1 } }, /retry\.backoff must be a number of milliseconds/],
  ])("%j is refused with what to write", (options, says) => {
    expect(() => setUp(() => undefined, options)).toThrow(says);
  });
});
