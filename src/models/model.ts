import type { ContentPart, Message, ProviderMetadata } from "../state/message.ts";

/**
 * A language model, as small as the agent's loop needs it. Providers translate;
 * the loop never sees a provider's own format, and neither does a checkpoint.
 */
export interface Model {
  /** For people, traces and totals: "openai:gpt-5". */
  readonly id: string;

  /** Its provider runs tools of its own during a request: then asking it is an effect, and waits until all before it is durable. */
  readonly runsTools?: boolean;

  /**
   * Answers a conversation, part by part.
   *
   * The caller promises a valid history: it begins with at most one system
   * message, and every tool call has exactly one result, right behind the
   * message that made the call. The model promises: parts in the order in which
   * they came; a `tool-call` only when it is complete; one `finish` as the last
   * part. A stream that ends without `finish` is an incomplete answer, not an
   * error. A failure is thrown, as `ModelError` where it can say whether to
   * retry; what was yielded before it stands. When `signal` aborts, it stops
   * soon and throws the signal's reason.
   */
  stream(request: ModelRequest): AsyncIterable<ModelPart>;

  /** How many tokens a request and its answer may have together, where that is known. */
  readonly contextWindow?: number;
}

export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly ModelTool[];
  readonly toolChoice?: "auto" | "none" | "required" | { readonly name: string };
  /** The answer should be JSON of this shape, where the provider supports that. */
  readonly responseSchema?: { readonly name: string; readonly schema: JsonSchema };
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  /** The answer ends before the first of these texts. */
  readonly stopSequences?: readonly string[];
  /** The same seed and the same request give the same answer, as far as the provider can do that. */
  readonly seed?: number;
  /** How long this request may take. The agent sees to it: a model need not. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Passed to the provider as it is, by provider name. */
  readonly providerOptions?: ProviderMetadata;
  /** Told what happens on the way to an answer. */
  readonly report?: (report: ModelReport) => void;
}

/** Nothing of an answer was seen yet: the model is asked again, or another one is. */
export type ModelReport =
  | {
      readonly type: "model-retry";
      readonly model: string;
      /** Which attempt failed, from 1 on. */
      readonly attempt: number;
      readonly delayMs: number;
      readonly error: unknown;
    }
  | { readonly type: "model-fallback"; readonly from: string; readonly to: string; readonly error: unknown };

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A tool as it is described to a model. */
export interface ModelTool {
  readonly name: string;
  readonly description?: string;
  /** Whether the provider is asked to hold the model to the schema. */
  readonly strict?: boolean;
  readonly inputSchema: JsonSchema;
}

export type ModelPart =
  /** `part` tells deltas of different text blocks apart: a new number is a new block. */
  | {
      readonly type: "text-delta";
      readonly part: number;
      readonly text: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  | {
      readonly type: "reasoning-delta";
      readonly part: number;
      readonly text: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  | { readonly type: "content"; readonly part: ContentPart }
  /** A piece of the arguments of a call that is not complete yet: to be shown, and for nothing else. */
  | { readonly type: "tool-input-delta"; readonly id: string; readonly name: string; readonly text: string }
  /** `argumentsText` is what the model wrote: JSON, if it did as it was told. */
  | {
      readonly type: "tool-call";
      readonly id: string;
      readonly name: string;
      readonly argumentsText: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  | {
      readonly type: "finish";
      readonly reason: FinishReason;
      readonly usage: ModelUsage;
      /** The id of the model that answered, where it is not the one that was asked. */
      readonly answeredBy?: string;
      /** What the provider calls the model and the answer. */
      readonly response?: { readonly model?: string; readonly id?: string };
      readonly providerMetadata?: ProviderMetadata;
    };

/** `refusal`: the model itself does not want to answer; `content-filter`: the provider cut it off. */
export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "refusal" | "error" | "other";

/** The same for every provider: input includes what the cache had, output includes what was only thought. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  /** Input that was written into the provider's cache, where it says so. */
  readonly cacheWriteTokens?: number;
  /** Where the provider counts them. */
  readonly reasoningTokens?: number;
}

export const NO_USAGE: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
