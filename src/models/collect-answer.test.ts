import { expect, test } from "vitest";
import { AnswerCollector, collectAnswer } from "./collect-answer.ts";
import { type ModelPart, NO_USAGE } from "./model.ts";

const finish: ModelPart = { type: "finish", reason: "stop", usage: NO_USAGE };
const text = (part: number, words: string, mark?: string): ModelPart => ({
  type: "text-delta",
  part,
  text: words,
  ...(mark !== undefined && { providerMetadata: { p: { mark } } }),
});

async function* streamed(parts: readonly ModelPart[]): AsyncGenerator<ModelPart> {
  yield* parts;
}
const collected = (...parts: readonly ModelPart[]) => collectAnswer(streamed(parts));

test("plain text is a plain string", async () => {
  expect((await collected(text(0, "Hel"), text(0, "lo"), finish)).content).toBe("Hello");
});

test("blocks keep their order and the last metadata of each, also when it comes late", async () => {
  const answer = await collected(
    { type: "reasoning-delta", part: 0, text: "Hm", providerMetadata: { p: { mark: "first" } } },
    text(1, "Hel"),
    { type: "reasoning-delta", part: 0, text: "", providerMetadata: { p: { mark: "signed" } } },
    text(1, "lo", "m1"),
    finish,
  );
  expect(answer.content).toEqual([
    { type: "reasoning", text: "Hm", providerMetadata: { p: { mark: "signed" } } },
    { type: "text", text: "Hello", providerMetadata: { p: { mark: "m1" } } },
  ]);
});

test("a file between two pieces of one block does not tear it", async () => {
  const file = { type: "file", mediaType: "image/png", data: new Uint8Array([1]) } as const;
  const answer = await collected(text(0, "Hel"), { type: "content", part: file }, text(0, "lo"), finish);
  expect(answer.content).toEqual([{ type: "text", text: "Hello" }, file]);
});

test("a block without words is kept only for its metadata", async () => {
  expect((await collected(text(0, ""), finish)).content).toBe("");
  const hidden: ModelPart = { type: "reasoning-delta", part: 0, text: "", providerMetadata: { p: { sealed: "x" } } };
  expect((await collected(hidden, text(1, "Hi"), finish)).content).toEqual([
    { type: "reasoning", text: "", providerMetadata: { p: { sealed: "x" } } },
    { type: "text", text: "Hi" },
  ]);
});

test("a stream without a finish is an incomplete answer", async () => {
  expect((await collected(text(0, "Hel"))).finish).toBeUndefined();
  expect((await collected(text(0, "Hello"), finish)).finish).toEqual({ reason: "stop", usage: NO_USAGE });
});

test("what was said before a failure can still be read", () => {
  const collector = new AnswerCollector();
  collector.add(text(0, "Hel"));
  collector.add({ type: "tool-call", id: "c1", name: "lookup", argumentsText: "{}" });
  expect(collector.answer).toEqual({
    content: "Hel",
    toolCalls: [{ id: "c1", name: "lookup", argumentsText: "{}" }],
    finish: undefined,
  });
});

test.each([
  ["is missing", undefined, {}],
  ["is told in part", { outputTokens: 6 }, { outputTokens: 6 }],
  [
    "is no number",
    { inputTokens: Number.NaN, outputTokens: "6", cachedInputTokens: 3n, reasoningTokens: null },
    { reasoningTokens: 0 },
  ],
  ["is less than nothing", { inputTokens: -5, outputTokens: 1 }, { outputTokens: 1 }],
  ["has an unknown count", { inputTokens: 1, other: "x" }, { inputTokens: 1 }],
])("a usage that %s is made of counts: a budget of NaN would never be reached", (_how, usage, counted) => {
  const collector = new AnswerCollector();
  collector.add({ type: "finish", reason: "stop", usage } as never);
  expect(collector.answer.finish?.usage).toEqual({ ...NO_USAGE, ...counted });
});

test("a call that came twice is one call also where its arguments are spaced or ordered otherwise", async () => {
  const call = { type: "tool-call", id: "1", name: "pay" } as const;
  const texts = ['{"eur":1,"to":"a"}', '{ "to": "a", "eur": 1 }', '{"eur":2,"to":"a"}'];
  const answer = await collectAnswer(
    (async function* () {
      for (const argumentsText of texts) yield { ...call, argumentsText };
    })(),
  );
  expect(answer.toolCalls.map(({ argumentsText }) => argumentsText)).toEqual([texts[0], texts[2]]);
});

test("a call that came twice is one call; another one with its id, and calls that have no id, are calls of their own", async () => {
  const call = (id: string, argumentsText: string): ModelPart => ({
    type: "tool-call",
    id,
    name: "pay",
    argumentsText,
  });
  const { toolCalls } = await collected(
    call("a", "{}"),
    call("a", "{}"),
    call("a", "[]"),
    call("", "{}"),
    call("", "{}"),
  );
  expect(toolCalls.map(({ id, argumentsText }) => id + argumentsText)).toEqual(["a{}", "a[]", "{}", "{}"]);
});

test.each([
  [null, /an object such as/],
  ["Hello", /an object such as/],
  [{ type: "text-delta", part: 0 }, /"text-delta" needs text, a text/],
  [{ type: "tool-call", name: "pay", argumentsText: "{}" }, /"tool-call" needs id, a text/],
  [
    { type: "tool-call", id: "a", name: "pay", argumentsText: {} },
    /needs argumentsText, a text: the arguments as JSON text/,
  ],
])("a part that is none says what it should be: %j", (part, says) => {
  expect(() => new AnswerCollector().add(part as never)).toThrow(says);
});
