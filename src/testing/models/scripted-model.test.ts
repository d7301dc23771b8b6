import { expect, test } from "vitest";
import { AnswerCollector, collectAnswer } from "../../models/collect-answer.ts";
import { type ModelRequest, NO_USAGE } from "../../models/model.ts";
import { userMessage } from "../../state/message.ts";
import { scriptedModel } from "./scripted-model.ts";
import { wordsOf } from "./stream-words.ts";

const request: ModelRequest = { messages: [userMessage("Refund order 7?")], tools: [] };

test("each request takes the next step, and is recorded", async () => {
  const model = scriptedModel(["One.", { text: "Two.", usage: { outputTokens: 3 }, finishReason: "length" }]);
  expect(model.remaining).toBe(2);
  expect((await collectAnswer(model.stream(request))).content).toBe("One.");
  const second = await collectAnswer(model.stream(request));
  expect(second).toMatchObject({
    content: "Two.",
    finish: { reason: "length", usage: { ...NO_USAGE, outputTokens: 3 } },
  });
  expect(model.requests).toEqual([request, request]);
  expect(model.remaining).toBe(0);
});

test("more requests than steps are a clear error", async () => {
  const model = scriptedModel(["One."]);
  await collectAnswer(model.stream(request));
  await expect(collectAnswer(model.stream(request))).rejects.toThrow(
    'scriptedModel: asked 2 times, but the script has 1 step(s); the last message was user: "Refund order 7?"',
  );
});

test("tool calls get ids that do not repeat when the conversation grows", async () => {
  const step = {
    toolCalls: [{ name: "a" }, { name: "b", arguments: { x: 1 } }, { name: "c", arguments: "{bad", id: "mine" }],
  };
  const model = scriptedModel([step, step]);
  const first = await collectAnswer(model.stream(request));
  expect(first.finish?.reason).toBe("tool-calls");
  expect(first.toolCalls.map(({ argumentsText }) => argumentsText)).toEqual(["{}", '{"x":1}', "{bad"]);
  const later = await collectAnswer(model.stream({ ...request, messages: [...request.messages, ...request.messages] }));
  const ids = [...first.toolCalls, ...later.toolCalls].map(({ id }) => id);
  expect(new Set(ids).size).toBe(5);
  expect(ids.filter((id) => id === "mine")).toHaveLength(2);
});

test("an error is thrown at once, or after something was said", async () => {
  const model = scriptedModel([new Error("down"), { text: "Half", error: new Error("cut") }]);
  await expect(collectAnswer(model.stream(request))).rejects.toThrow("down");
  const collector = new AnswerCollector();
  const run = (async () => {
    for await (const part of model.stream(request)) collector.add(part);
  })();
  await expect(run).rejects.toThrow("cut");
  expect(collector.answer.content).toBe("Half");
});

test("an incomplete step ends without a finish", async () => {
  const answer = await collectAnswer(scriptedModel([{ text: "Half", incomplete: true }]).stream(request));
  expect(answer).toEqual({ content: "Half", toolCalls: [], finish: undefined });
});

test("a function decides by the request; parts are played as they are", async () => {
  const model = scriptedModel([
    async ({ messages }) => `You sent ${messages.length} message.`,
    { parts: [{ type: "reasoning-delta", part: 0, text: "Hm" }] },
  ]);
  expect((await collectAnswer(model.stream(request))).content).toBe("You sent 1 message.");
  expect((await collectAnswer(model.stream(request))).content).toEqual([{ type: "reasoning", text: "Hm" }]);
});

test("an abort ends a wait with the signal's reason", async () => {
  const controller = new AbortController();
  const model = scriptedModel([{ text: "Never.", delayMs: 60_000 }]);
  const run = collectAnswer(model.stream({ ...request, signal: controller.signal }));
  setImmediate(() => controller.abort(new Error("enough")));
  await expect(run).rejects.toThrow("enough");
});

test.each(["", " ", "a", "two words", "  led  and\ntrailing \n", "\u{1f511} keys"])(
  "the words of %j make the text again",
  (text) => {
    expect(wordsOf(text).join("")).toBe(text);
  },
);
