import type { ContentPart, ProviderMetadata } from "../state/message.ts";
import { canonicalJson } from "../state/values/codec.ts";
import type { FinishReason, ModelPart, ModelUsage } from "./model.ts";
import { ModelError } from "./model-error.ts";
import { parseToolArguments } from "./tool-arguments.ts";

/** What a model said in one request, put together from its parts. */
export interface ModelAnswer {
  /** Ready for an assistant message: plain text where that says everything, else the parts in order. */
  readonly content: string | readonly ContentPart[];
  readonly toolCalls: readonly RequestedToolCall[];
  /** `undefined` when the stream ended without finishing: the answer is incomplete. */
  readonly finish: AnswerFinish | undefined;
}

export interface RequestedToolCall {
  readonly id: string;
  readonly name: string;
  /** See `parseToolArguments`. */
  readonly argumentsText: string;
  readonly providerMetadata?: ProviderMetadata;
}

export interface AnswerFinish {
  readonly reason: FinishReason;
  readonly usage: ModelUsage;
  readonly answeredBy?: string;
  readonly response?: { readonly model?: string; readonly id?: string };
  readonly providerMetadata?: ProviderMetadata;
}

/** Puts an answer together while it streams; `answer` may be read at any time, also after a failure. */
export class AnswerCollector {
  readonly #parts: ContentPart[] = [];
  /** Where in `#parts` the block with that number is. */
  readonly #blocks = new Map<number, number>();
  readonly #toolCalls: RequestedToolCall[] = [];
  #finish: AnswerFinish | undefined;

  add(part: ModelPart): void {
    assertPart(part);
    switch (part.type) {
      case "text-delta":
      case "reasoning-delta":
        this.#addDelta(part);
        return;
      case "content":
        this.#parts.push(part.part);
        return;
      case "tool-call": {
        const { type, ...call } = part;
        if (!this.#toolCalls.some((other) => isRepeated(call, other))) this.#toolCalls.push(call);
        return;
      }
      case "finish": {
        const { type, usage, ...finish } = part;
        this.#finish = { ...finish, usage: countedUsage(usage) };
      }
    }
  }

  get answer(): ModelAnswer {
    const parts = this.#parts.filter(saysSomething);
    const [first] = parts;
    const isPlain = parts.length === 1 && first?.type === "text" && first.providerMetadata === undefined;
    return {
      content: parts.length === 0 ? "" : isPlain ? first.text : parts,
      toolCalls: [...this.#toolCalls],
      finish: this.#finish,
    };
  }

  #addDelta(delta: Extract<ModelPart, { type: "text-delta" | "reasoning-delta" }>): void {
    const index = this.#blocks.get(delta.part) ?? this.#parts.length;
    const known = this.#parts[index];
    const text = known === undefined || known.type === "file" ? delta.text : known.text + delta.text;
    // The last metadata of a block counts: a model repeats what still holds.
    const providerMetadata = delta.providerMetadata ?? known?.providerMetadata;
    const type = delta.type === "text-delta" ? "text" : "reasoning";
    this.#parts[index] = { type, text, ...(providerMetadata !== undefined && { providerMetadata }) };
    this.#blocks.set(delta.part, index);
  }
}

export async function collectAnswer(parts: AsyncIterable<ModelPart>): Promise<ModelAnswer> {
  const collector = new AnswerCollector();
  for await (const part of parts) collector.add(part);
  return collector.answer;
}

/** A part without words still counts when a provider wants its metadata back: hidden reasoning looks like that. */
const saysSomething = (part: ContentPart): boolean =>
  part.type === "file" || part.text !== "" || part.providerMetadata !== undefined;

/** A part that came twice is one call: run twice, it would pay twice. Models that number no calls have no id to tell by. */
const isRepeated = (call: RequestedToolCall, other: RequestedToolCall): boolean =>
  call.id !== "" && call.id === other.id && call.name === other.name && saidBy(call) === saidBy(other);

/** What the arguments say, however they are spaced. */
function saidBy({ argumentsText }: RequestedToolCall): string {
  const parsed = parseToolArguments(argumentsText);
  return parsed.ok ? canonicalJson(parsed.value) : argumentsText;
}

const TEXTS_OF: Readonly<Record<string, readonly string[]>> = {
  "text-delta": ["text"],
  "reasoning-delta": ["text"],
  "tool-input-delta": ["text"],
  "tool-call": ["id", "name", "argumentsText"],
};

/** A model of the user's own may yield anything; what is missing is told here, and not by whatever meets it later. */
function assertPart(part: ModelPart): void {
  if (typeof part !== "object" || part === null) {
    throw faultyPart('a part of an answer is an object such as { type: "text-delta", part: 0, text: "Hello" }');
  }
  for (const name of TEXTS_OF[part.type] ?? []) {
    if (typeof (part as unknown as Readonly<Record<string, unknown>>)[name] === "string") continue;
    const advice = name === "argumentsText" ? ": the arguments as JSON text" : "";
    throw faultyPart(`a part "${part.type}" needs ${name}, a text${advice}`);
  }
}

const faultyPart = (what: string): ModelError =>
  new ModelError(`the model yielded something else than it should: ${what}`, { retryable: false });

/**
 * A model may be any implementation, and a usage that is no number would make a budget that is never reached and totals
 * that stay broken.
 */
function countedUsage(told: Partial<Record<keyof ModelUsage, unknown>> | undefined): ModelUsage {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = told ?? {};
  return {
    inputTokens: countOf(inputTokens),
    outputTokens: countOf(outputTokens),
    cachedInputTokens: countOf(cachedInputTokens),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens: countOf(cacheWriteTokens) }),
    ...(reasoningTokens !== undefined && { reasoningTokens: countOf(reasoningTokens) }),
  };
}

const countOf = (tokens: unknown): number =>
  typeof tokens === "number" && Number.isFinite(tokens) && tokens > 0 ? tokens : 0;
