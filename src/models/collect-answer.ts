import type { ContentPart, ProviderMetadata } from "../state/message.ts";
import type { FinishReason, ModelPart, ModelUsage } from "./model.ts";

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
        this.#toolCalls.push(call);
        return;
      }
      case "finish": {
        const { type, ...finish } = part;
        this.#finish = finish;
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
