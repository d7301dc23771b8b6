/**
 * The part of the AI SDK's language model interface that is used here, in our
 * own words: any object of this shape will do, and no package is needed for it.
 * Versions 2, 3 and 4 differ in files, finish reasons, usage and tool results.
 */
import type { ProviderMetadata } from "../../state/message.ts";

export const SPECIFICATIONS = ["v2", "v3", "v4"] as const;
export type Specification = (typeof SPECIFICATIONS)[number];

/** Which URLs a provider fetches by itself, by media type. */
export type UrlPatterns = Readonly<Record<string, readonly RegExp[]>>;

export interface AiSdkModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls?: UrlPatterns | PromiseLike<UrlPatterns>;
  // `never`, so that a model of every version fits: their call options differ, and are checked by version.
  doStream?(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
  doGenerate?(options: never): PromiseLike<object>;
}

export interface CallOptions {
  readonly prompt: readonly PromptMessage[];
  readonly tools?: readonly object[];
  readonly toolChoice?: object;
  readonly responseFormat?: object;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly abortSignal?: AbortSignal;
  readonly providerOptions?: ProviderMetadata;
}

export type PromptMessage =
  | { readonly role: "system"; readonly content: string; readonly providerOptions?: ProviderMetadata }
  | {
      readonly role: "user" | "assistant" | "tool";
      readonly content: readonly PromptPart[];
      readonly providerOptions?: ProviderMetadata;
    };

export type PromptPart = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface GenerateResult {
  readonly content: readonly GeneratedPart[];
  readonly finishReason: FinishPart["finishReason"];
  readonly usage: unknown;
  readonly warnings?: readonly unknown[];
  readonly providerMetadata?: ProviderMetadata;
}

/** What `doGenerate` lists; beside these, everything of a stream that is not a block. */
export type GeneratedPart = GeneratedWords | StreamPart;

export interface GeneratedWords {
  readonly type: "text" | "reasoning";
  readonly text: string;
  readonly providerMetadata?: ProviderMetadata;
}

export type StreamPart =
  | BlockPart
  | ToolCallPart
  | ToolResultPart
  | GeneratedFilePart
  | FinishPart
  | { readonly type: "custom"; readonly kind: string; readonly providerMetadata?: ProviderMetadata }
  | { readonly type: "tool-approval-request"; readonly toolCallId: string }
  | { readonly type: "stream-start"; readonly warnings?: readonly unknown[] }
  | { readonly type: "error"; readonly error: unknown }
  | {
      readonly type: "tool-input-start";
      readonly id: string;
      readonly toolName: string;
      readonly providerExecuted?: boolean;
    }
  | { readonly type: "tool-input-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "response-metadata"; readonly id?: unknown; readonly modelId?: unknown }
  | { readonly type: "source" | "raw" | "ping" };

export interface BlockPart {
  readonly type: "text-start" | "text-delta" | "text-end" | "reasoning-start" | "reasoning-delta" | "reasoning-end";
  readonly id: string;
  readonly delta?: string;
  readonly providerMetadata?: ProviderMetadata;
}

export interface ToolCallPart {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON, if the model did as it was told. */
  readonly input: string;
  readonly providerExecuted?: boolean;
  readonly providerMetadata?: ProviderMetadata;
}

/** In a stream always of a tool that the provider ran. */
export interface ToolResultPart {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly result: unknown;
  readonly isError?: boolean;
  readonly preliminary?: boolean;
  readonly providerMetadata?: ProviderMetadata;
}

export interface GeneratedFilePart {
  readonly type: "file" | "reasoning-file";
  readonly mediaType: string;
  readonly data: GeneratedData | { readonly type: "data"; readonly data: GeneratedData } | GeneratedUrl;
  readonly providerMetadata?: ProviderMetadata;
}

/** Text is Base64. */
export type GeneratedData = string | Uint8Array;
export interface GeneratedUrl {
  readonly type: "url";
  readonly url: URL | string;
}

export interface FinishPart {
  readonly type: "finish";
  readonly finishReason: string | { readonly unified: string; readonly raw?: string | undefined };
  readonly usage: unknown;
  readonly providerMetadata?: ProviderMetadata;
}
