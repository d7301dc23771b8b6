import { expect, test } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import type { ModelPart } from "../../src/models/model.ts";
import { type AiSdkOptions, fromAiSdk, isAiSdkModel } from "../../src/providers/ai-sdk/index.ts";
import { userMessage } from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { recordingSdkModel } from "./recording-sdk-model.ts";

const request = { messages: [userMessage("Hi")], tools: [] };
const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} };

async function streamed(parts: readonly object[], options: AiSdkOptions = {}, version = "v3"): Promise<ModelPart[]> {
  const seen: ModelPart[] = [];
  const model = fromAiSdk(recordingSdkModel(version, parts), { retry: false, ...options });
  for await (const part of model.stream(request)) seen.push(part);
  return seen;
}

test("blocks are numbered in the order in which they begin, also when ids are used again", async () => {
  const parts = await streamed([
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "a" },
    { type: "reasoning-start", id: "0" },
    { type: "reasoning-delta", id: "0", delta: "b" },
    { type: "text-delta", id: "0", delta: "c" },
    { type: "text-end", id: "0" },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "d" },
    finish,
  ]);
  expect(parts.slice(0, 4)).toEqual([
    { type: "text-delta", part: 0, text: "a" },
    { type: "reasoning-delta", part: 1, text: "b" },
    { type: "text-delta", part: 0, text: "c" },
    { type: "text-delta", part: 2, text: "d" },
  ]);
});

test("metadata of start, delta and end of a block is merged, and told once it is new", async () => {
  const parts = await streamed([
    { type: "reasoning-start", id: "r", providerMetadata: { p: { itemId: "rs_1" } } },
    { type: "reasoning-delta", id: "r", delta: "Hm" },
    { type: "reasoning-delta", id: "r", delta: "." },
    { type: "reasoning-end", id: "r", providerMetadata: { p: { sealed: "x" } } },
    { type: "reasoning-start", id: "hidden", providerMetadata: { p: { redacted: "y" } } },
    { type: "reasoning-end", id: "hidden" },
    { type: "text-start", id: "empty" },
    { type: "text-end", id: "empty" },
    finish,
  ]);
  expect(parts.slice(0, -1)).toEqual([
    { type: "reasoning-delta", part: 0, text: "Hm", providerMetadata: { p: { itemId: "rs_1" } } },
    { type: "reasoning-delta", part: 0, text: "." },
    { type: "reasoning-delta", part: 0, text: "", providerMetadata: { p: { itemId: "rs_1", sealed: "x" } } },
    { type: "reasoning-delta", part: 1, text: "", providerMetadata: { p: { redacted: "y" } } },
  ]);
});

test.each([
  ["v2", "stop", { inputTokens: 5, outputTokens: 2, totalTokens: 7, cachedInputTokens: 3 }],
  ["v3", { unified: "stop", raw: "end_turn" }, { inputTokens: { total: 5, cacheRead: 3 }, outputTokens: { total: 2 } }],
  ["v4", { unified: "stop", raw: undefined }, { inputTokens: { total: 5, cacheRead: 3 }, outputTokens: { total: 2 } }],
])("%s: reason and usage are read as that version writes them", async (version, finishReason, usage) => {
  const [end] = await streamed(
    [{ type: "finish", finishReason, usage, providerMetadata: { p: { id: 1 } } }],
    {},
    version,
  );
  expect(end).toEqual({
    type: "finish",
    reason: "stop",
    usage: { inputTokens: 5, outputTokens: 2, cachedInputTokens: 3 },
    providerMetadata: { p: { id: 1 } },
  });
});

test("usage that the provider did not count is zero", async () => {
  const usage = { inputTokens: { total: undefined, cacheRead: undefined }, outputTokens: { total: Number.NaN } };
  expect(await streamed([{ ...finish, usage }])).toMatchObject([
    { usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 } },
  ]);
});

test("an unknown reason is another reason", async () => {
  expect(await streamed([{ ...finish, finishReason: { unified: "tired", raw: "tired" } }])).toMatchObject([
    { reason: "other" },
  ]);
});

test.each([
  ["v2", "unknown"],
  ["v3", { unified: "other", raw: undefined }],
  ["v4", { unified: "interrupted", raw: undefined }],
])(
  "%s: a finish that the provider made up for a stream that broke off does not count",
  async (version, finishReason) => {
    const parts = [
      { type: "text-delta", id: "0", delta: "Hel" },
      { ...finish, finishReason },
    ];
    expect(await streamed(parts, {}, version)).toEqual([{ type: "text-delta", part: 0, text: "Hel" }]);
  },
);

test("a call whose arguments do not parse is told only when the answer is whole", async () => {
  const broken = { type: "tool-call", toolCallId: "c1", toolName: "f", input: '{"a":' };
  const whole = { type: "tool-call", toolCallId: "c2", toolName: "f", input: "" };
  const made = await streamed([broken, whole, finish]);
  expect(made.map((part) => (part.type === "tool-call" ? part.id : part.type))).toEqual(["c2", "c1", "finish"]);
  expect(await streamed([broken, { ...finish, finishReason: "unknown" }], {}, "v2")).toEqual([]);
});

test("files come as bytes or as a URL, whatever the version", async () => {
  const file = { type: "file", mediaType: "image/png" };
  const parts = await streamed([
    { ...file, data: "AQID" },
    { ...file, data: new Uint8Array([1, 2, 3]) },
    { ...file, data: { type: "data", data: "AQID" } },
    { ...file, data: { type: "url", url: new URL("https://x.example/a.png") } },
    finish,
  ]);
  const bytes = { type: "content", part: { ...file, data: new Uint8Array([1, 2, 3]) } };
  expect(parts.slice(0, 4)).toEqual([
    bytes,
    bytes,
    bytes,
    { type: "content", part: { ...file, data: { url: "https://x.example/a.png" } } },
  ]);
});

test("sources, pings and raw chunks are passed over; warnings are told", async () => {
  const warnings: unknown[] = [];
  const parts = await streamed(
    [
      { type: "stream-start", warnings: [{ type: "unsupported", feature: "seed" }] },
      { type: "source" },
      { type: "ping" },
      { type: "raw" },
      finish,
    ],
    { onWarning: (warning) => warnings.push(warning) },
  );
  expect(parts).toHaveLength(1);
  expect(warnings).toEqual([{ type: "unsupported", feature: "seed" }]);
});

test("a tool that the provider runs itself and wants approved is refused with what to do", async () => {
  const failure = await failureOf(() =>
    streamed([{ type: "tool-approval-request", approvalId: "a", toolCallId: "c" }]),
  );
  expect(failure.message).toContain("set that tool up so that it needs no approval");
  expect(failure.retryable).toBe(false);
});

test("a model that cannot stream is asked for the whole answer", async () => {
  const result = {
    content: [
      { type: "reasoning", text: "Hm", providerMetadata: { p: { sealed: "x" } } },
      { type: "text", text: "Hi." },
      { type: "tool-call", toolCallId: "c1", toolName: "f", input: "{}" },
    ],
    finishReason: { unified: "other", raw: undefined },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 2 } },
    warnings: [],
    providerMetadata: { p: { id: 1 } },
  };
  const { doStream: _, ...model } = recordingSdkModel("v3");
  const whole = { ...model, doGenerate: async () => result };
  const answer = await collectAnswer(fromAiSdk(whole).stream(request));
  expect(answer).toEqual({
    content: [
      { type: "reasoning", text: "Hm", providerMetadata: { p: { sealed: "x" } } },
      { type: "text", text: "Hi." },
    ],
    toolCalls: [{ id: "c1", name: "f", argumentsText: "{}" }],
    finish: {
      reason: "other",
      usage: { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0 },
      providerMetadata: { p: { id: 1 } },
    },
  });
});

test("an abort is heard also where a provider does not listen: before the stream, and in it", async () => {
  const deaf = [
    recordingSdkModel("v3", [], { doStream: () => new Promise(() => undefined) }),
    recordingSdkModel("v3", [], { doStream: async () => ({ stream: new ReadableStream() }) }),
  ];
  for (const model of deaf) {
    const controller = new AbortController();
    const run = collectAnswer(fromAiSdk(model).stream({ ...request, signal: controller.signal }));
    setImmediate(() => controller.abort(new Error("enough")));
    await expect(run).rejects.toThrow("enough");
  }
});

test("a version that is not known is refused with those that are", async () => {
  const failure = await failureOf(() => fromAiSdk(recordingSdkModel("v9")));
  expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(failure.message).toContain('has specification "v9"; this version of holdfast knows v2, v3, v4');
});

test("a language model is known by its shape", () => {
  expect(isAiSdkModel(recordingSdkModel("v9"))).toBe(true);
  for (const other of [
    undefined,
    null,
    "openai:gpt-5",
    {},
    () => 1,
    { id: "m", stream: () => [] },
    { ...recordingSdkModel("v3"), doStream: 1 },
  ]) {
    expect(isAiSdkModel(other)).toBe(false);
  }
  expect(() => fromAiSdk({} as never)).toThrow(TypeError);
});

test("errors in a stream keep what they say of themselves", async () => {
  const thrown = async (error: unknown) => failureOf(() => streamed([{ type: "error", error }]));
  expect(await thrown({ type: "overloaded_error", message: "Overloaded" })).toMatchObject({
    message: "acme:m1: Overloaded",
    retryable: true,
  });
  expect(await thrown({ error: { type: "invalid_request_error", message: "No" } })).toMatchObject({
    message: "acme:m1: No",
    retryable: false,
  });
  expect(await thrown("plain words")).toMatchObject({ message: "acme:m1: plain words", retryable: false });
  expect(await thrown(undefined)).toMatchObject({ message: "acme:m1: the provider failed and did not say why" });
  expect(await thrown(Object.assign(new Error("x"), { cause: { code: "ECONNRESET" } }))).toMatchObject({
    retryable: true,
  });
});

test("secrets that were named, and keys of the usual shapes, are cut out of an error", async () => {
  const options = { secrets: ["hunter2"] };
  const error = new Error("key sk-proj-abcdefghijkl refused, password hunter2, Bearer abcdef123456");
  const failure = await failureOf(() => streamed([{ type: "error", error }], options));
  const told = `${failure.message}\n${failure.stack}\n${(failure.cause as Error).message}\n${(failure.cause as Error).stack}`;
  for (const secret of ["sk-proj", "hunter2", "abcdef123456"]) expect(told).not.toContain(secret);
});
