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

/** What the packages of one line are made with. */
type Model = (id: string) => AiSdkModel;
type OpenAI = (given: { baseURL: string; apiKey: string }) => Model & { chat: Model; completion: Model };
type Anthropic = (given: { baseURL: string; apiKey: string }) => Model;

export const providerLine = (version: ProviderLine["version"], openai: OpenAI, anthropic: Anthropic): ProviderLine => ({
  version,
  responses: (baseURL, apiKey = OPENAI_KEY) => openai({ baseURL, apiKey })("gpt-5"),
  chat: (baseURL, apiKey = OPENAI_KEY) => openai({ baseURL, apiKey }).chat("gpt-4.1"),
  completion: (baseURL, apiKey = OPENAI_KEY) => openai({ baseURL, apiKey }).completion("gpt-3.5-turbo-instruct"),
  anthropic: (baseURL, apiKey = ANTHROPIC_KEY) => anthropic({ baseURL, apiKey })("claude-sonnet-4-5"),
});
