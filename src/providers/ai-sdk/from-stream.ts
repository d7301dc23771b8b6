import type { FinishReason, ModelPart, ModelUsage } from "../../models/model.ts";
import { ModelError } from "../../models/model-error.ts";
import type { ProviderMetadata } from "../../state/message.ts";
import { generatedFile, keptCall, keptCustom, keptResult } from "./kept-parts.ts";
import { familyOf, mergeMetadata, withOwnNotes } from "./own-notes.ts";
import type { BlockPart, FinishPart, StreamPart, ToolCallPart } from "./specification.ts";

export interface StreamContext {
  readonly id: string;
  readonly provider: string;
  readonly onWarning: ((warning: unknown) => void) | undefined;
}

/** A provider's stream as our parts. Ends without `finish` when the provider did not say that the answer is whole. */
export async function* toModelParts(
  stream: AsyncIterable<StreamPart>,
  context: StreamContext,
): AsyncGenerator<ModelPart, void, undefined> {
  const answer = new StreamTranslation(context);
  for await (const part of stream) {
    if (part.type === "finish" && isCutOff(part)) return;
    yield* answer.translate(part);
    if (part.type === "finish") return;
  }
}

class StreamTranslation {
  readonly #context: StreamContext;
  readonly #blocks = new Map<string, OpenBlock>();
  #nextBlock = 0;
  #lastCall: string | undefined;
  #response: { readonly model?: string; readonly id?: string } | undefined;
  /** Calls whose arguments are not whole JSON: they count only if the answer was finished. */
  readonly #doubtful: ModelPart[] = [];

  constructor(context: StreamContext) {
    this.#context = context;
  }

  *translate(part: StreamPart): Generator<ModelPart, void, undefined> {
    const { provider } = this.#context;
    switch (part.type) {
      case "text-start":
      case "text-delta":
      case "text-end":
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        return yield* this.#block(part);
      case "tool-call":
        if (part.providerExecuted === true) return yield { type: "content", part: keptCall(part, provider) };
        return yield* this.#call(part);
      case "tool-result":
        if (part.preliminary !== true) yield { type: "content", part: keptResult(part, provider) };
        return;
      case "custom":
        if (!REPORTS.has(part.kind)) yield { type: "content", part: keptCustom(part, provider) };
        return;
      case "file":
      case "reasoning-file":
        return yield { type: "content", part: generatedFile(part, provider) };
      case "stream-start":
        for (const warning of part.warnings ?? []) this.#context.onWarning?.(warning);
        return;
      case "response-metadata":
        this.#response = {
          ...(typeof part.modelId === "string" && { model: part.modelId }),
          ...(typeof part.id === "string" && { id: part.id }),
        };
        return;
      case "error":
        throw part.error;
      case "tool-approval-request":
        throw new ModelError(
          `${this.#context.id}: the provider asks to approve a tool that it runs itself; ` +
            "set that tool up so that it needs no approval, or run it here as a tool with needsApproval",
          { retryable: false },
        );
      case "finish":
        yield* this.#doubtful;
        yield {
          type: "finish",
          reason: reasonOf(part, provider),
          usage: usageOf(part, provider),
          ...(this.#response !== undefined && { response: this.#response }),
          ...(part.providerMetadata !== undefined && { providerMetadata: part.providerMetadata }),
        };
    }
  }

  *#block({ type, id, delta = "", providerMetadata }: BlockPart): Generator<ModelPart, void, undefined> {
    const kind = type.startsWith("text") ? "text" : "reasoning";
    const key = `${kind} ${id}`;
    const block = this.#blocks.get(key) ?? this.#open(key);
    if (type.endsWith("-end")) this.#blocks.delete(key);
    if (providerMetadata !== undefined) {
      block.metadata = mergeMetadata(block.metadata, providerMetadata);
      block.isTold = false;
    }
    block.isWanted ||= delta !== "" || providerMetadata !== undefined;
    // Metadata at the start of a block waits for its first words; what only the end brings is told then.
    const isDue = block.isWanted && !block.isTold && block.metadata !== undefined && !type.endsWith("-start");
    if (delta === "" && !isDue) return;
    yield {
      type: `${kind}-delta`,
      part: block.number,
      text: delta,
      ...(isDue && block.metadata !== undefined && { providerMetadata: block.metadata }),
    };
    block.isTold ||= isDue;
  }

  #open(key: string): OpenBlock {
    const metadata = this.#lastCall === undefined ? undefined : withOwnNotes({}, { afterToolCall: this.#lastCall });
    const block = { number: this.#nextBlock++, metadata, isTold: false, isWanted: false };
    this.#blocks.set(key, block);
    return block;
  }

  *#call({ toolCallId, toolName, input, providerMetadata }: ToolCallPart): Generator<ModelPart, void, undefined> {
    const call: ModelPart = {
      type: "tool-call",
      id: toolCallId,
      name: toolName,
      argumentsText: input,
      ...(providerMetadata !== undefined && { providerMetadata }),
    };
    if (input.trim() !== "" && !isJson(input)) this.#doubtful.push(call);
    else {
      this.#lastCall = toolCallId;
      yield call;
    }
  }
}

/** Custom parts that only report: their provider does not want them back. */
const REPORTS: ReadonlySet<string> = new Set(["anthropic.message_start"]);

interface OpenBlock {
  readonly number: number;
  metadata: ProviderMetadata | undefined;
  /** Whether `metadata`, as it is now, was yielded. */
  isTold: boolean;
  /** Whether the provider put anything into the block: an empty one is not passed on. */
  isWanted: boolean;
}

/** Some providers end every stream with a finish, also one that broke off: it then gives no reason of the model's. */
function isCutOff({ finishReason }: FinishPart): boolean {
  if (typeof finishReason === "string") return finishReason === "unknown";
  const { unified, raw } = finishReason;
  return unified === "interrupted" || (unified === "other" && raw === undefined);
}

const REASONS: ReadonlySet<string> = new Set<FinishReason>(["stop", "tool-calls", "length", "content-filter", "error"]);

function reasonOf({ finishReason }: FinishPart, provider: string): FinishReason {
  const { unified, raw } = typeof finishReason === "string" ? { unified: finishReason, raw: "" } : finishReason;
  if (unified === "content-filter" && isRefusal(raw, provider)) return "refusal";
  return REASONS.has(unified) ? (unified as FinishReason) : "other";
}

/**
 * The interface has one word for a model that does not want to answer and for a
 * provider that does not let it. The provider's own word tells them apart: OpenAI
 * ends a refusal like any answer, and Anthropic says "refusal" and has no other.
 */
const isRefusal = (raw: string | undefined, provider: string): boolean =>
  raw === "refusal" || raw === "stop" || raw === undefined || (raw === "" && familyOf(provider) === "anthropic");

/**
 * v2 counts in plain numbers, v3 and v4 in totals with their shares. In v2
 * Anthropic's input is what neither came from the cache nor went into it; here
 * it is the whole, as everywhere else.
 */
function usageOf({ usage, providerMetadata }: FinishPart, provider: string): ModelUsage {
  const { inputTokens: input, outputTokens: output, cachedInputTokens, reasoningTokens } = recordOf(usage);
  const isPlain = typeof input !== "object";
  const cached = countOf(recordOf(input)["cacheRead"] ?? cachedInputTokens);
  const written =
    recordOf(input)["cacheWrite"] ?? recordOf(providerMetadata?.["anthropic"])["cacheCreationInputTokens"];
  const reasoning = recordOf(output)["reasoning"] ?? reasoningTokens;
  const beside = isPlain && familyOf(provider) === "anthropic" ? cached + countOf(written) : 0;
  return {
    inputTokens: countOf(recordOf(input)["total"] ?? input) + beside,
    outputTokens: countOf(recordOf(output)["total"] ?? output),
    cachedInputTokens: cached,
    ...(typeof written === "number" && { cacheWriteTokens: countOf(written) }),
    ...(typeof reasoning === "number" && { reasoningTokens: countOf(reasoning) }),
  };
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

const countOf = (tokens: unknown): number => (typeof tokens === "number" && Number.isFinite(tokens) ? tokens : 0);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
