import { createAnthropic as anthropicV3 } from "@ai-sdk/anthropic";
import { createOpenAI as openaiV3 } from "@ai-sdk/openai";
import { createAnthropic as anthropicV2 } from "ai-sdk-anthropic-v2";
import { createAnthropic as anthropicV4 } from "ai-sdk-anthropic-v4";
import { createOpenAI as openaiV2 } from "ai-sdk-openai-v2";
import { createOpenAI as openaiV4 } from "ai-sdk-openai-v4";
import type { AiSdkModel } from "../../src/providers/ai-sdk/index.ts";
import { ANTHROPIC_KEY } from "./fake-anthropic.ts";
import { OPENAI_KEY } from "./fake-openai.ts";

/** One published line of the AI SDK's real provider packages. */
export interface ProviderLine {
  readonly version: "v2" | "v3" | "v4";
  responses(url: string, apiKey?: string): AiSdkModel;
  chat(url: string, apiKey?: string): AiSdkModel;
  completion(url: string, apiKey?: string): AiSdkModel;
  anthropic(url: string, apiKey?: string): AiSdkModel;
}

/** AI SDK 5, 6 and 7. */
export const PROVIDER_LINES: readonly ProviderLine[] = [
  {
    version: "v2",
    responses: (baseURL, apiKey = OPENAI_KEY) => openaiV2({ baseURL, apiKey })("gpt-5"),
    chat: (baseURL, apiKey = OPENAI_KEY) => openaiV2({ baseURL, apiKey }).chat("gpt-4.1"),
    completion: (baseURL, apiKey = OPENAI_KEY) => openaiV2({ baseURL, apiKey }).completion("gpt-3.5-turbo-instruct"),
    anthropic: (baseURL, apiKey = ANTHROPIC_KEY) => anthropicV2({ baseURL, apiKey })("claude-sonnet-4-5"),
  },
  {
    version: "v3",
    responses: (baseURL, apiKey = OPENAI_KEY) => openaiV3({ baseURL, apiKey })("gpt-5"),
    chat: (baseURL, apiKey = OPENAI_KEY) => openaiV3({ baseURL, apiKey }).chat("gpt-4.1"),
    completion: (baseURL, apiKey = OPENAI_KEY) => openaiV3({ baseURL, apiKey }).completion("gpt-3.5-turbo-instruct"),
    anthropic: (baseURL, apiKey = ANTHROPIC_KEY) => anthropicV3({ baseURL, apiKey })("claude-sonnet-4-5"),
  },
  {
    version: "v4",
    responses: (baseURL, apiKey = OPENAI_KEY) => openaiV4({ baseURL, apiKey })("gpt-5"),
    chat: (baseURL, apiKey = OPENAI_KEY) => openaiV4({ baseURL, apiKey }).chat("gpt-4.1"),
    completion: (baseURL, apiKey = OPENAI_KEY) => openaiV4({ baseURL, apiKey }).completion("gpt-3.5-turbo-instruct"),
    anthropic: (baseURL, apiKey = ANTHROPIC_KEY) => anthropicV4({ baseURL, apiKey })("claude-sonnet-4-5"),
  },
];
