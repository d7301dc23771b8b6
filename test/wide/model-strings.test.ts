import * as anthropicSdk from "ai-sdk-anthropic-v4";
import * as openaiV2 from "ai-sdk-openai-v2";
import { expect, test } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import { modelFromString } from "../../src/providers/strings.ts";
import { userMessage } from "../../src/state/message.ts";
import { ANTHROPIC_KEY, startFakeAnthropic } from "../providers/fake-anthropic.ts";
import { OPENAI_KEY, startFakeOpenAI } from "../providers/fake-openai.ts";
import type { FakeAnswer } from "../providers/fake-provider.ts";

const request = { messages: [userMessage("Hi")], tools: [] };
const hello: FakeAnswer = { blocks: [{ type: "text", text: "Hello." }] };

const saidBy = async (name: string, options: Parameters<typeof modelFromString>[1]) => {
  const model = await modelFromString(name, options);
  expect(model.id).toBe(name);
  const { content } = await collectAnswer(model.stream(request));
  return typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join("");
};

test("older and newer lines of the packages will do", async () => {
  await using openai = await startFakeOpenAI([hello]);
  expect(
    await saidBy("openai:gpt-5", { baseUrl: openai.url, apiKey: OPENAI_KEY, importPackage: async () => openaiV2 }),
  ).toBe("Hello.");
  await using anthropic = await startFakeAnthropic([hello]);
  const options = { baseUrl: anthropic.url, apiKey: ANTHROPIC_KEY, importPackage: async () => anthropicSdk };
  expect(await saidBy("anthropic:claude-sonnet-4-5", options)).toBe("Hello.");
});
