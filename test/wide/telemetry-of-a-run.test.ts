import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeEach, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import type { Model } from "../../src/models/model.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { retryingModel } from "../../src/models/retrying-model.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "../agent/agent-of.ts";
import { MemoryStore } from "../agent/stored-thread.ts";

const spans = new InMemorySpanExporter();
const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 });
const meters = new MeterProvider({ readers: [reader] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
metrics.setGlobalMeterProvider(meters);

beforeEach(() => {
  spans.reset();
  measured.reset();
});
afterAll(() => meters.shutdown());

const KINDS: readonly string[] = ["INTERNAL", "SERVER", "CLIENT"];

/** Every finished span as it was exported: name, kind, parent, attributes, status. */
function exported(): readonly object[] {
  const found = spans.getFinishedSpans();
  return found.map(({ name, kind, attributes, status, parentSpanContext }) => ({
    name,
    kind: KINDS[kind],
    parent: found.find((other) => other.spanContext().spanId === parentSpanContext?.spanId)?.name,
    attributes,
    failed: status.code === 2,
  }));
}

/** The values of one metric, by their attributes. */
async function valuesOf(name: string): Promise<readonly (readonly [object, unknown])[]> {
  measured.reset();
  await meters.forceFlush();
  const all = measured.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  const points = all
    .filter(({ descriptor }) => descriptor.name === name)
    .flatMap(({ dataPoints }) => dataPoints as { attributes: object; value: unknown }[]);
  return points.map(({ attributes, value }) => [attributes, value]);
}

const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60, cacheWriteTokens: 10, reasoningTokens: 5 };

function tracedModel(): Model {
  const steps = scriptedModel(
    [
      { toolCalls: [{ name: "work", id: "call-1" }], usage },
      { text: "ready", usage },
    ],
    {
      id: "openai:gpt-5",
    },
  );
  return {
    id: steps.id,
    async *stream(request) {
      for await (const part of steps.stream(request)) {
        yield part.type === "finish" ? { ...part, response: { id: "resp-1", model: "gpt-5-2026-01-01" } } : part;
      }
    },
  };
}

test("a run, its model calls and its tools are spans of the GenAI conventions, attribute by attribute", async () => {
  const work = tool({ name: "work", description: "Works.", effect: "pure", execute: () => "done" });
  const agent = agentOf({
    name: "shop",
    model: tracedModel(),
    tools: [work],
    checkpointer: new MemoryStore().open(),
    maxOutputTokens: 500,
    temperature: 0.5,
  });
  await agent.run("a secret prompt", { threadId: "t" });
  const counted = {
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.usage.cache_read.input_tokens": 60,
    "gen_ai.usage.cache_creation.input_tokens": 10,
    "gen_ai.usage.reasoning.output_tokens": 5,
  };
  const chat = (finish: string) => ({
    name: "chat gpt-5",
    kind: "CLIENT",
    parent: "invoke_agent shop",
    failed: false,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-5",
      "gen_ai.request.max_tokens": 500,
      "gen_ai.request.temperature": 0.5,
      "gen_ai.conversation.id": "t",
      "gen_ai.response.model": "gpt-5-2026-01-01",
      "gen_ai.response.id": "resp-1",
      "gen_ai.response.finish_reasons": [finish],
      ...counted,
    },
  });
  expect(exported()).toEqual([
    chat("tool_call"),
    {
      name: "execute_tool work",
      kind: "INTERNAL",
      parent: "invoke_agent shop",
      failed: false,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "work",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Works.",
        "holdfast.tool.attempt": 1,
      },
    },
    chat("stop"),
    {
      name: "invoke_agent shop",
      kind: "INTERNAL",
      parent: undefined,
      failed: false,
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "shop",
        "gen_ai.conversation.id": "t",
        "holdfast.run.id": expect.any(String),
        "holdfast.stop_reason": "complete",
        ...Object.fromEntries(Object.entries(counted).map(([name, value]) => [name, value * 2])),
      },
    },
  ]);
  expect(JSON.stringify(exported())).not.toContain("secret");
});

test("a tool that fails and a model that fails are error spans with an error.type", async () => {
  const work = tool({
    name: "work",
    execute: () => {
      throw new Error("no");
    },
  });
  const failing = new ModelError("down", { retryable: false });
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, failing]);
  await expect(agentOf({ model, tools: [work] }).run("go")).rejects.toThrow("down");
  const failed = exported().filter((span) => (span as { failed: boolean }).failed);
  expect(failed).toMatchObject([
    { name: "execute_tool work", attributes: { "error.type": "failed" } },
    { name: "chat scripted", attributes: { "error.type": "MODEL_FAILED" } },
    { name: "invoke_agent", attributes: { "error.type": "MODEL_FAILED" } },
  ]);
});

test("nothing of what was said is in a trace: no prompt, no argument, no result, no message or stack of an error", async () => {
  const CARD = "4111-1111-1111-1111";
  const pay = tool({
    name: "pay",
    inputSchema: { type: "object" },
    execute: () => {
      throw new Error(`declined: ${CARD}`);
    },
  });
  const call = { toolCalls: [{ name: "pay", arguments: { card: CARD } }] };
  const model = scriptedModel([call, new ModelError(`the prompt "${CARD}" was refused`, { retryable: false })]);
  await expect(agentOf({ model, tools: [pay] }).run(CARD)).rejects.toThrow("refused");
  const told = spans
    .getFinishedSpans()
    .map(({ name, attributes, events, status }) => [name, attributes, events, status]);
  expect(told).toHaveLength(4);
  expect(JSON.stringify(told)).not.toContain("4111");
});

test("recordContent puts messages, arguments and results into the trace, as the conventions name them", async () => {
  const work = tool({ name: "work", inputSchema: { type: "object" }, effect: "pure", execute: () => "done" });
  const model = scriptedModel([{ toolCalls: [{ name: "work", id: "call-1", arguments: { n: 1 } }] }, "ready"]);
  await agentOf({ model, tools: [work], systemPrompt: "Be brief.", recordContent: true }).run("go");
  const [first, call, second] = spans.getFinishedSpans().map(({ attributes }) => attributes);
  const parsed = (text: unknown): unknown => JSON.parse(String(text));
  expect(parsed(first?.["gen_ai.system_instructions"])).toEqual([{ type: "text", content: "Be brief." }]);
  expect(parsed(first?.["gen_ai.input.messages"])).toEqual([
    { role: "user", parts: [{ type: "text", content: "go" }] },
  ]);
  expect(parsed(first?.["gen_ai.output.messages"])).toMatchObject([
    { role: "assistant", parts: [{ type: "tool_call", id: "call-1", name: "work", arguments: { n: 1 } }] },
  ]);
  expect(call).toMatchObject({ "gen_ai.tool.call.arguments": '{"n":1}', "gen_ai.tool.call.result": "done" });
  expect(parsed(second?.["gen_ai.input.messages"])).toMatchObject([
    { role: "user" },
    { role: "assistant" },
    { role: "tool", parts: [{ type: "tool_call_response", id: "call-1", response: "done" }] },
  ]);
});

test("tokens, durations, saves, conflicts, retries and runs are metrics", async () => {
  const flaky = scriptedModel([new ModelError("busy", { retryable: true }), { text: "ready", usage }], {
    id: "openai:gpt-6",
  });
  const model = retryingModel(flaky, { sleep: async () => undefined });
  await agentOf({ model, checkpointer: new MemoryStore().open() }).run("go", { threadId: "t" });
  const by = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-6",
    "gen_ai.response.model": "gpt-6",
  };
  const ours = (found: readonly (readonly [object, unknown])[]) =>
    found.filter(([attributes]) => JSON.stringify(attributes).includes("gpt-6"));
  expect(ours(await valuesOf("gen_ai.client.token.usage"))).toMatchObject([
    [
      { ...by, "gen_ai.token.type": "input" },
      { count: 1, sum: 100 },
    ],
    [
      { ...by, "gen_ai.token.type": "output" },
      { count: 1, sum: 20 },
    ],
  ]);
  expect(ours(await valuesOf("gen_ai.client.operation.duration"))).toMatchObject([[by, { count: 1 }]]);
  expect(await valuesOf("holdfast.retries")).toEqual([[{ "holdfast.retried": "model" }, 1]]);
  expect((await valuesOf("holdfast.saves"))[0]?.[1]).toBeGreaterThan(0);
  expect((await valuesOf("holdfast.save.duration"))[0]?.[1]).toMatchObject({ count: expect.any(Number) });
  expect(await valuesOf("holdfast.runs")).toContainEqual([{ "holdfast.stop_reason": "complete" }, expect.any(Number)]);
});

test("what a run cost follows from the table that was handed in, and is kept in the thread's totals", async () => {
  const store = new MemoryStore();
  const prices = { "openai:gpt-5": { input: 10, output: 100, cachedInput: 1, cacheWrite: 20 } };
  const work = tool({ name: "work", effect: "pure", execute: () => "done" });
  const priced = agentOf({ model: tracedModel(), tools: [work], prices, checkpointer: store.open() });
  const { cost } = await priced.run("go", { threadId: "t" });
  // Two calls: 30 plain, 60 cached, 10 written, 20 out.
  expect(cost).toBeCloseTo((2 * (30 * 10 + 60 * 1 + 10 * 20 + 20 * 100)) / 1e6, 12);
  expect((await store.state()).totals.cost).toBeCloseTo(cost!, 12);
  const unknown = agentOf({ model: scriptedModel(["hi"], { id: "x:y" }), prices });
  expect((await unknown.run("go")).cost).toBeUndefined();
  expect((await agentOf({ model: scriptedModel(["hi"]) }).run("go")).cost).toBeUndefined();
  expect(() => agentOf({ model: scriptedModel([]), prices: { a: { input: -1, output: 1 } } })).toThrow(/prices\["a"\]/);
});
