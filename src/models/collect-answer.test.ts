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
