import { createAnthropic as anthropicV2 } from "ai-sdk-anthropic-v2";
import { createAnthropic as anthropicV4 } from "ai-sdk-anthropic-v4";
import { createOpenAI as openaiV2 } from "ai-sdk-openai-v2";
import { createOpenAI as openaiV4 } from "ai-sdk-openai-v4";
import { type ProviderLine, providerLine } from "../providers/provider-line.ts";

/** AI SDK 5 and 7. */
export const OTHER_PROVIDER_LINES: readonly ProviderLine[] = [
  providerLine("v2", openaiV2, anthropicV2),
  providerLine("v4", openaiV4, anthropicV4),
];
