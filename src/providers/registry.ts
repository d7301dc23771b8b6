import type { ProviderModule } from "../models/provider.ts";

export interface ProviderEntry {
  /** An example, for messages and docs. */
  readonly example: string;
  readonly load: () => Promise<ProviderModule>;
  /** The package that speaks to the provider, with the versions that work. */
  readonly peers: Readonly<Record<string, string>>;
}

const AI_SDK_5_TO_7 = ">=2 <5";

/** One line a provider. package.json's peers are written from it. */
export const PROVIDERS: Readonly<Record<string, ProviderEntry>> = {
  openai: {
    example: "openai:gpt-5",
    load: () => import("./openai/index.ts"),
    peers: { "@ai-sdk/openai": AI_SDK_5_TO_7 },
  },
  anthropic: {
    example: "anthropic:claude-sonnet-4-5",
    load: () => import("./anthropic/index.ts"),
    peers: { "@ai-sdk/anthropic": AI_SDK_5_TO_7 },
  },
  google: {
    example: "google:gemini-2.5-pro",
    load: () => import("./google/index.ts"),
    peers: { "@ai-sdk/google": AI_SDK_5_TO_7 },
  },
  ollama: {
    example: "ollama:qwen3:8b",
    load: () => import("./ollama/index.ts"),
    peers: { "@ai-sdk/openai-compatible": ">=1 <4" },
  },
  oci: {
    example: "oci:openai.gpt-5.5",
    load: () => import("./oci/index.ts"),
    peers: { "@ai-sdk/openai-compatible": ">=1 <4" },
  },
};
