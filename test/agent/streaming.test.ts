import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import type { ModelPart } from "../../src/models/model.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { assertValidForAnthropic } from "../../src/testing/models/history-validators.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const run = (store: MemoryStore, steps: readonly ScriptStep[], prompt?: string) => {
  const model = scriptedModel(steps);
  const agent = agentOf({ model, checkpointer: store.open() });
  return { model, run: agent.run(prompt, { threadId: "t" }) };
};

test("deltas come as they are said, then the whole message", async () => {
  const events = await eventsOf(agentOf({ model: scriptedModel([{ reasoning: "hm", text: "one two" }]) }).run("go"));
  const said = events.filter(({ type }) => type === "model-delta" || type === "message");
  expect(said).toMatchObject([
    { type: "model-delta", kind: "reasoning", text: "hm" },
    { type: "model-delta", kind: "text", text: "one" },
    { type: "model-delta", kind: "text", text: " two" },
    { type: "message", message: { role: "assistant" } },
  ]);
});

test("what a provider wants back is kept with the parts it came with", async () => {
  const store = new MemoryStore();
  const parts: ModelPart[] = [
    { type: "reasoning-delta", part: 0, text: "because", providerMetadata: { anthropic: { signature: "s" } } },
    { type: "text-delta", part: 1, text: "so" },
    {
      type: "finish",
      reason: "stop",
      usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
      providerMetadata: { openai: { responseId: "r" } },
    },
  ];
  await run(store, [{ parts }], "go").run;
  expect((await store.state()).messages[1]).toEqual({
    role: "assistant",
    content: [
      { type: "reasoning", text: "because", providerMetadata: { anthropic: { signature: "s" } } },
      { type: "text", text: "so" },
    ],
    providerMetadata: { openai: { responseId: "r" } },
  });
});

describe("a stream that ends without finishing", () => {
  test("is kept as cut off, and the run says so", async () => {
    const store = new MemoryStore();
    expect(await run(store, [{ text: "half", incomplete: true }], "go").run).toMatchObject({
      stopReason: "incomplete",
      text: "half",
    });
    expect(await store.lines()).toEqual(["user: go", "assistant: half (cut off)"]);
  });

  test("is asked for again on resume, without showing the model its half sentence", async () => {
    const store = new MemoryStore();
    await run(store, [{ text: "half", incomplete: true }], "go").run;
    const second = run(store, ["whole"]);
    expect(await second.run).toMatchObject({ stopReason: "complete", text: "whole" });
    expect(second.model.requests[0]?.messages).toEqual([{ role: "user", content: "go" }]);
  });

  test("twice in a row: neither half is shown to the model", async () => {
    const store = new MemoryStore();
    await run(store, [{ text: "half", incomplete: true }], "go").run;
    await run(store, [{ text: "other half", incomplete: true }]).run;
    const third = run(store, ["whole"]);
    await third.run;
    expect(third.model.requests[0]?.messages).toEqual([{ role: "user", content: "go" }]);
  });

  test("once the answer was given, is not shown to the model any more", async () => {
    const store = new MemoryStore();
    await run(store, [{ text: "half", incomplete: true }], "go").run;
    await run(store, ["whole"]).run;
    const next = run(store, ["sure"], "more");
    await next.run;
    expect(next.model.requests[0]?.messages.map(({ content }) => content)).toEqual(["go", "whole", "more"]);
  });

  test("runs none of the calls that were said in it", async () => {
    let ran = 0;
    const work = tool({ name: "work", execute: () => ++ran });
    const model = scriptedModel([{ toolCalls: [{ name: "work" }], incomplete: true }]);
    await agentOf({ model, tools: [work] }).run("go");
    expect(ran).toBe(0);
  });

  test("and a new prompt behind it: the history stays valid", async () => {
    const store = new MemoryStore();
    await run(store, [{ text: "half", incomplete: true }], "go").run;
    const next = run(store, ["sure"], "never mind");
    await next.run;
    assertValidForAnthropic(next.model.requests[0]!.messages);
    expect(await store.lines()).toEqual([
      "user: go",
      "assistant: half (cut off)",
      "user: never mind",
      "assistant: sure",
    ]);
  });
});

describe("a model that fails in the middle of its answer", () => {
  const failing: ScriptStep = { text: "I was about", error: new ModelError("cut", { retryable: true }) };

  test("fails the run with its own error, and the prompt stays", async () => {
    const store = new MemoryStore();
    const failure = await failureOf(() => run(store, [failing], "go").run);
    expect(failure).toMatchObject({ code: "MODEL_FAILED", retryable: true });
    expect((await store.lines())[0]).toBe("user: go");
  });

  test("leaves what it said where it can be found", async () => {
    const failure = await failureOf(() => run(new MemoryStore(), [failing], "go").run);
    expect(failure).toMatchObject({ text: "I was about" });
  });

  test("leaves a thread that can be resumed", async () => {
    const store = new MemoryStore();
    await failureOf(() => run(store, [failing], "go").run);
    const second = run(store, ["whole"]);
    expect(await second.run).toMatchObject({ text: "whole", stopReason: "complete" });
    expect(second.model.requests[0]?.messages).toEqual([{ role: "user", content: "go" }]);
  });
});

test("a model that throws anything is a model that failed", async () => {
  const store = new MemoryStore();
  expect(await failureOf(() => run(store, [new Error("socket hang up")], "go").run)).toMatchObject({
    code: "MODEL_FAILED",
    message: expect.stringContaining("socket hang up"),
  });
});

test("an empty answer is recognised, and the thread continues", async () => {
  const store = new MemoryStore();
  expect(await run(store, [{ text: "" }], "go").run).toMatchObject({ stopReason: "empty", text: "" });
  const next = run(store, ["yes"], "still there?");
  await next.run;
  assertValidForAnthropic(next.model.requests[0]!.messages);
});
