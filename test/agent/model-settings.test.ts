import { describe, expect, test } from "vitest";
import type { PrepareStep } from "../../src/agent/model-call/model-question.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { fallbackModel } from "../../src/models/fallback-model.ts";
import type { Model } from "../../src/models/model.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { retryingModel } from "../../src/models/retrying-model.ts";
import { userMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { linesOf, MemoryStore } from "./stored-thread.ts";

const down = (): ModelError => new ModelError("down", { retryable: false, status: 503 });
const work = tool({ name: "work", effect: "pure", execute: () => "worked" });
const rest = tool({ name: "rest", effect: "pure", execute: () => "rested" });

describe("model settings", () => {
  test("reach every request of a run", async () => {
    const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
    const settings = {
      maxOutputTokens: 100,
      temperature: 0.2,
      topP: 0.9,
      stopSequences: ["END"],
      seed: 7,
      toolChoice: "auto",
      providerOptions: { openai: { a: 1 } },
    };
    await agentOf({ model, tools: [work], ...(settings as { toolChoice: "auto" }) }).run("go");
    expect(model.requests).toHaveLength(2);
    for (const request of model.requests) expect(request).toMatchObject(settings);
  });

  test("a choice of tools is not sent where there are none to choose from", async () => {
    const model = scriptedModel(["ready"]);
    await agentOf({ model, toolChoice: "required" }).run("go");
    expect(model.requests[0]).not.toHaveProperty("toolChoice");
  });

  test.each([
    [{ maxOutputTokens: 0 }, /maxOutputTokens must be a whole number from 1 on/],
    [{ topP: 1.5 }, /topP must be a number greater than 0 and at most 1/],
    [{ seed: 0.5 }, /seed must be a whole number from 0 on/],
    [{ stopSequences: [""] }, /stopSequences must be a list of texts, none of them empty/],
    [{ modelTimeoutMs: 0 }, /modelTimeoutMs must be a number greater than 0/],
    [{ temperature: -1 }, /temperature must be a number from 0 on/],
    [{ toolChoice: "always" as "auto" }, /toolChoice must be "auto", "none", "required" or/],
    [{ toolChoice: { name: "wrok" } }, /toolChoice names "wrok", which is no tool; there are work/],
  ])("settings that no provider takes are refused when the agent is made: %j", (settings, message) => {
    expect(() => agentOf({ model: scriptedModel([]), tools: [work], ...settings })).toThrow(message);
  });
});

describe("a model that takes longer than modelTimeoutMs", () => {
  /** Hangs as often as it is told, and does not listen to the signal. */
  const hanging = (times: number, runsTools = false): Model & { asked: number } => ({
    id: "slow",
    runsTools,
    asked: 0,
    async *stream() {
      if (++this.asked <= times) await new Promise(() => undefined);
      yield { type: "text-delta", part: 0, text: "ready" };
      yield { type: "finish", reason: "stop", usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 } };
    },
  });
  const soon = { sleep: async () => undefined };

  test("is asked again", async () => {
    const model = hanging(2);
    const { text } = await agentOf({ model: retryingModel(model, soon), modelTimeoutMs: 20 }).run("go");
    expect([text, model.asked]).toEqual(["ready", 3]);
  });

  test("and hangs each time, is passed over for the next one", async () => {
    const other = scriptedModel(["said by the other"], { id: "other" });
    const models = [retryingModel(hanging(99), { ...soon, attempts: 2 }), other];
    expect((await agentOf({ model: fallbackModel(models), modelTimeoutMs: 20 }).run("go")).text).toBe(
      "said by the other",
    );
  });

  test("and whose provider runs tools, is not asked again: they may have acted", async () => {
    const model = hanging(99, true);
    const failing = agentOf({ model: retryingModel(model, soon), modelTimeoutMs: 20 }).run("go");
    await expect(failing).rejects.toThrow("slow did not answer within 20 ms (modelTimeoutMs)");
    expect(model.asked).toBe(1);
  });
});

describe("a system prompt that is a function", () => {
  test("is asked before each model call, and sees the state, the metadata and the runtime", async () => {
    const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
    const agent = agentOf<unknown, { user: string }>({
      model,
      tools: [work],
      systemPrompt: async ({ state, metadata, runtime }) =>
        `For ${runtime.user}, ${metadata["plan"]}: ${state.messages.length} messages`,
    });
    await agent.run("go", { runtime: { user: "Ada" }, metadata: { plan: "pro" } });
    const systems = model.requests.map(({ messages }) => messages[0]?.content);
    expect(systems).toEqual(["For Ada, pro: 1 messages", "For Ada, pro: 3 messages"]);
  });

  test("and returns no text, ends the run and says so", async () => {
    const agent = agentOf({ model: scriptedModel(["ready"]), systemPrompt: (() => undefined) as never });
    await expect(agent.run("go")).rejects.toThrow("systemPrompt() must return a text, not undefined");
  });
});

describe("prepareStep", () => {
  const run = async (prepareStep: PrepareStep, model: Model) =>
    agentOf({ model, tools: [work, rest], prepareStep, temperature: 1, providerOptions: { openai: { a: 1 } } }).run(
      "go",
    );

  test("changes model, tools, settings and messages of one step and of no other", async () => {
    const other = scriptedModel(["said by the other"], { id: "other" });
    const model = scriptedModel([{ toolCalls: [{ name: "work" }] }], { id: "usual" });
    const seen: unknown[] = [];
    const { text } = await run(({ iteration, tools, model: { id }, messages }) => {
      seen.push([iteration, id, tools, messages.length]);
      if (iteration === 1)
        return { tools: ["work"], toolChoice: { name: "work" }, providerOptions: { openai: { b: 2 } } };
      return { model: other, temperature: 0, messages: [userMessage("only this")] };
    }, model);
    expect(text).toBe("said by the other");
    expect(seen).toEqual([
      [1, "usual", ["work", "rest"], 1],
      [2, "usual", ["work", "rest"], 3],
    ]);
    expect(model.requests[0]).toMatchObject({
      tools: [{ name: "work" }],
      toolChoice: { name: "work" },
      temperature: 1,
      providerOptions: { openai: { a: 1, b: 2 } },
    });
    expect(other.requests[0]).toMatchObject({ temperature: 0, messages: [userMessage("only this")] });
    expect(other.requests[0]!.tools).toHaveLength(2);
  });

  test("a tool that the step does not offer is not run, and the model is told", async () => {
    const model = scriptedModel([{ toolCalls: [{ name: "rest" }] }, "ready"]);
    const { state } = await run(() => ({ tools: ["work"] }), model);
    expect(linesOf(state)).toContain("tool: The tool rest is not offered in this step.");
    expect(state.toolExecutions.map(({ status }) => status)).toEqual(["failed"]);
  });

  test("messages that it gives are made valid for a provider", async () => {
    const model = scriptedModel([{ toolCalls: [{ name: "work", id: "c" }] }, "ready"]);
    await run(({ iteration, messages }) => (iteration === 2 ? { messages: messages.slice(2) } : undefined), model);
    expect(model.requests[1]!.messages.map(({ role }) => role)).not.toContain("tool");
  });

  test("an unknown tool, option or kind ends the run with what to write", async () => {
    const model = (): Model => scriptedModel(["ready"]);
    await expect(run(() => ({ tools: ["wrok"] }), model())).rejects.toThrow(
      /names the tool "wrok"; there are work, rest/,
    );
    await expect(run(() => ({ activeTools: [] }) as never, model())).rejects.toThrow(/has no option "activeTools"/);
    await expect(run(() => "work" as never, model())).rejects.toThrow(/must return an object or nothing/);
  });
});

describe("model fallback", () => {
  test("the next model answers when one failed before it said anything, and the run says so", async () => {
    const model = fallbackModel([
      scriptedModel([down()], { id: "a" }),
      scriptedModel([down()], { id: "b" }),
      scriptedModel(["fine"], { id: "c" }),
    ]);
    const run = agentOf({ model }).run("go");
    const events = await eventsOf(run);
    expect((await run).text).toBe("fine");
    expect(ofType(events, "model-fallback").map(({ from, to }) => [from, to])).toEqual([
      ["a", "b"],
      ["b", "c"],
    ]);
  });

  test("words that were seen are not taken back: no other model is asked after them", async () => {
    const other = scriptedModel(["never"]);
    const model = fallbackModel([scriptedModel([{ text: "half", error: down() }]), other]);
    await expect(agentOf({ model }).run("go")).rejects.toThrow("down");
    expect(other.requests).toHaveLength(0);
  });

  test("when every model fails, the last one's failure is the run's", async () => {
    const model = fallbackModel([scriptedModel([new Error("one")]), scriptedModel([new Error("two")])]);
    await expect(agentOf({ model }).run("go")).rejects.toThrow("two");
  });

  test("it fits the narrowest of its models, and counts as running tools when one of them does", () => {
    const wide = { ...scriptedModel([]), contextWindow: 900 };
    const narrow = { ...scriptedModel([]), contextWindow: 100, runsTools: true };
    expect(fallbackModel([wide, narrow])).toMatchObject({ contextWindow: 100, runsTools: true });
    expect(fallbackModel([wide])).toBe(wide);
    expect(() => fallbackModel([])).toThrow(/takes a list of models/);
  });
});

test("a model that is asked again says so, with what failed and how long it waits", async () => {
  const failing = new ModelError("busy", { retryable: true });
  const model = retryingModel(scriptedModel([failing, "fine"], { id: "m" }), {
    sleep: async () => undefined,
    random: () => 1,
  });
  const events = await eventsOf(
    agentOf({ model, checkpointer: new MemoryStore().open() }).run("go", { threadId: "t" }),
  );
  expect(ofType(events, "model-retry")).toEqual([
    { type: "model-retry", model: "m", attempt: 1, delayMs: 500, error: failing },
  ]);
});
