import * as anthropicSdk from "ai-sdk-anthropic-v4";
import * as openaiV2 from "ai-sdk-openai-v2";
import { expect, test } from "vitest";
import { ANTHROPIC_KEY, startFakeAnthropic } from "../providers/fake-anthropic.ts";
import { OPENAI_KEY, startFakeOpenAI } from "../providers/fake-openai.ts";
import { hello, saidBy } from "../providers/said-by.ts";

test("older and newer lines of the packages will do", async () => {
  await using openai = await startFakeOpenAI([hello]);
  expect(
    await saidBy("openai:gpt-5", { baseUrl: openai.url, apiKey: OPENAI_KEY, importPackage: async () => openaiV2 }),
  ).toBe("Hello.");
  await using anthropic = await startFakeAnthropic([hello]);
  const options = { baseUrl: anthropic.url, apiKey: ANTHROPIC_KEY, importPackage: async () => anthropicSdk };
  expect(await saidBy("anthropic:claude-sonnet-4-5", options)).toBe("Hello.");
});
