import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import { type AiSdkModel, fromAiSdk } from "../../src/providers/ai-sdk/index.ts";
import {
  assistantMessage,
  type ContentPart,
  type Message,
  systemMessage,
  toolMessage,
  userMessage,
} from "../../src/state/message.ts";
import { runs } from "../property-seed.ts";
import { LOOKUP } from "./conversation.ts";
import { type AnthropicBody, assertValidAnthropicBody } from "./wire-anthropic.ts";
import { assertValidOpenAIChatBody, type OpenAIChatBody } from "./wire-openai-chat.ts";
import { assertValidOpenAIResponsesBody, type OpenAIResponsesBody } from "./wire-openai-responses.ts";

/** Histories that keep the port's promise, with all that models and other providers may have left in them. */
const words = fc.constantFrom("Yes.", "", "  ", "\n\n", "See \u{1f511}", "{}");
const metadata = fc.constantFrom(
  undefined,
  { google: { thoughtSignature: "x" } },
  { acme: { itemId: "msg_1", signature: "s" } },
);
const part: fc.Arbitrary<ContentPart> = fc
  .record({ type: fc.constantFrom("text" as const, "reasoning" as const), text: words, mark: metadata })
  .map(({ type, text, mark }) => (mark === undefined ? { type, text } : { type, text, providerMetadata: mark }));
const toolId = fc.constantFrom(
  "call_a",
  "toolu_b",
  "functions.lookup:0",
  "x".repeat(80),
  "id with spaces",
  "\u{1f511}",
);
const input = fc.constantFrom<unknown>({}, { service: "x" }, undefined, "{bad", [1], null);

const turn = fc
  .record({
    asked: fc.constantFrom("Hi", "And now?"),
    content: fc.oneof(words, fc.array(part, { maxLength: 4 })),
    calls: fc.uniqueArray(fc.record({ id: toolId, input }), { maxLength: 3, selector: ({ id }) => id }),
    answer: words,
  })
  .map(({ asked, content, calls, answer }) => (number: number): Message[] => {
    const toolCalls = calls.map((call) => ({ id: `${call.id}${number}`, name: "lookup", arguments: call.input }));
    const results = toolCalls.map(({ id }) => toolMessage("found", { toolCallId: id, toolName: "lookup" }));
    return [userMessage(asked), assistantMessage(content, { toolCalls }), ...results, assistantMessage(answer)];
  });

const history = fc
  .tuple(fc.boolean(), fc.array(turn, { maxLength: 3 }))
  .map(([hasSystem, turns]) => [
    ...(hasSystem ? [systemMessage("On call.")] : []),
    ...turns.flatMap((make, index) => make(index)),
    userMessage("Last question"),
  ]);

async function bodySentBy(open: (send: typeof fetch) => AiSdkModel, messages: readonly Message[]): Promise<unknown> {
  let body: unknown;
  const model = open(async (_, init) => {
    body = JSON.parse(String(init?.body));
    return new Response("{}", { status: 418 });
  });
  await collectAnswer(fromAiSdk(model, { retry: false }).stream({ messages, tools: [LOOKUP] })).catch(
    (error: Error) => {
      expect(error.message).toContain("HTTP 418");
    },
  );
  return body;
}

const settings = (fetch: typeof globalThis.fetch) => ({ apiKey: "k", fetch });

test("whatever a valid history holds, Anthropic's body is valid", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (messages) => {
      const body = await bodySentBy((send) => createAnthropic(settings(send))("claude-sonnet-4-5"), messages);
      assertValidAnthropicBody(body as AnthropicBody);
    }),
    runs(120),
  );
});

test("whatever a valid history holds, the body of OpenAI's chat completions is valid", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (messages) => {
      const body = await bodySentBy((send) => createOpenAI(settings(send)).chat("gpt-4.1"), messages);
      assertValidOpenAIChatBody(body as OpenAIChatBody);
    }),
    runs(120),
  );
});

test("whatever a valid history holds, the body of OpenAI's responses is valid", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (messages) => {
      const body = await bodySentBy((send) => createOpenAI(settings(send))("gpt-4.1"), messages);
      assertValidOpenAIResponsesBody(body as OpenAIResponsesBody);
    }),
    runs(120),
  );
});
