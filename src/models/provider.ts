import { StateError } from "../errors.ts";
import { fetchWithoutRedirects } from "./fetch-without-redirects.ts";

/** What every provider can be told. What is left out comes from the environment, under the provider's usual names. */
export interface ProviderOptions {
  readonly apiKey?: string;
  /** Instead of the provider's own endpoint: a proxy, a gateway, a test server. */
  readonly baseUrl?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called with `redirect: "manual"`: a redirect is an error, because it would take the key and the conversation elsewhere. */
  readonly fetch?: typeof fetch;
  /** @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** A provider's language model, opened but not yet wrapped as a `Model`. */
export interface OpenedModel {
  /** An AI SDK language model, of any supported specification. */
  readonly languageModel: object;
  /** Never to appear in a message or an error. */
  readonly secrets: readonly string[];
}

/** What a provider's `index.ts` offers to a caller that only has a model string. */
export interface ProviderModule {
  /** `sdk` is the provider's package, loaded: the one that the provider's peers name. */
  open(sdk: unknown, modelId: string, options: ProviderOptions): Promise<OpenedModel>;
}

/** The first of the variables that is set. An empty one counts as not set. */
export function environmentValue(options: ProviderOptions, ...names: readonly string[]): string | undefined {
  const { environment = process.env } = options;
  return names.map((name) => environment[name]).find((value) => value !== undefined && value !== "");
}

export function requiredApiKey(provider: string, options: ProviderOptions, ...names: readonly string[]): string {
  const key = options.apiKey ?? environmentValue(options, ...names);
  if (key !== undefined) return key;
  throw new StateError("INVALID_ARGUMENT", `${provider}: no API key; set ${names.join(" or ")}`);
}

/** Settings under the names that all AI SDK provider packages share. */
export function sdkSettings({ baseUrl, headers, fetch }: ProviderOptions): object {
  return {
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    ...(headers !== undefined && { headers }),
    fetch: fetchWithoutRedirects(fetch),
  };
}
