import { StateError } from "../errors.ts";
import { importPeer } from "../internal/import-peer.ts";
import { assertKnownOptions, type OptionKinds } from "../internal/known-options.ts";
import type { Model } from "../models/model.ts";
import type { ProviderOptions } from "../models/provider.ts";
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from "./ai-sdk/index.ts";
import { PROVIDERS, type ProviderEntry } from "./registry.ts";

export interface ModelStringOptions extends ProviderOptions, Pick<AiSdkOptions, "retry" | "download" | "onWarning"> {
  /** For tests: loads the provider's package. */
  readonly importPackage?: (name: string) => Promise<unknown>;
}

const OPTIONS: OptionKinds<ModelStringOptions> = {
  apiKey: "string",
  baseUrl: "string",
  headers: "object",
  fetch: "function",
  environment: "object",
  retry: ["object", "boolean"],
  download: "function",
  onWarning: "function",
  importPackage: "function",
};

/** The model for a string: `openai:gpt-5`, `ollama:qwen3:8b`. Loads only that provider, through its own package. */
export async function modelFromString(name: string, options: ModelStringOptions = {}): Promise<Model> {
  if (typeof name !== "string") throw new TypeError('modelFromString() takes a string like "openai:gpt-5"');
  assertKnownOptions("modelFromString()", options, OPTIONS);
  const { provider, modelId } = parseModelString(name);
  const sdk = await importPackage(provider, options);
  const { open } = await provider.load();
  const { languageModel, secrets } = await open(sdk, modelId, options);
  const { retry, download, onWarning } = options;
  return fromAiSdk(languageModel as AiSdkModel, {
    id: name,
    secrets,
    ...(retry !== undefined && { retry }),
    ...(download !== undefined && { download }),
    ...(onWarning !== undefined && { onWarning }),
  });
}

/**
 * The provider and model that a string names. Throws for an unknown provider. Loads
 * nothing.
 */
export function parseModelString(name: string): { readonly provider: ProviderEntry; readonly modelId: string } {
  const [, providerName = "", modelId = ""] = /^([^:]*):(.*)$/s.exec(name) ?? [];
  const provider = Object.hasOwn(PROVIDERS, providerName) ? PROVIDERS[providerName] : undefined;
  if (provider === undefined || modelId.trim() === "") {
    const examples = Object.values(PROVIDERS).map(({ example }) => example);
    throw new StateError(
      "INVALID_ARGUMENT",
      `no model for the string ${JSON.stringify(name)}; it looks like one of ${examples.join(", ")}`,
    );
  }
  return { provider, modelId };
}

async function importPackage({ peers }: ProviderEntry, options: ModelStringOptions): Promise<unknown> {
  // The name is a variable, so that a type check does not need packages that most users do not have.
  const { importPackage: load = (name: string): Promise<unknown> => import(name) } = options;
  const [[name, range] = ["", ""]] = Object.entries(peers);
  return importPeer(name, range, () => load(name));
}
