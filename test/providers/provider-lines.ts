import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { fromWide } from "../wide/installed.ts";
import { type ProviderLine, providerLine } from "./provider-line.ts";

/** AI SDK 6 and, where the packages of test/wide are installed, 5 and 7. */
export const PROVIDER_LINES: readonly ProviderLine[] = [
  providerLine("v3", createOpenAI, createAnthropic),
  ...(await fromWide<readonly ProviderLine[]>("provider-lines.ts", "OTHER_PROVIDER_LINES", [])),
];
