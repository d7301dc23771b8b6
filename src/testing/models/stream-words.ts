import { sleep } from "../../internal/time.ts";
import type { ModelPart, ModelRequest } from "../../models/model.ts";

/** A tool call that a model of ours makes. */
export interface ScriptedToolCall {
  readonly name: string;
  /** An object, or the very text that the model "writes", to try bad JSON. */
  readonly arguments?: unknown;
  /** @default one that no other call of the conversation has */
  readonly id?: string;
}

/** The text as deltas, word by word; what is put together again is the same text. */
export const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+(?:\s+$)?|^\s+$/g) ?? [];

export const textParts = (type: "text-delta" | "reasoning-delta", text: string, part: number): readonly ModelPart[] =>
  wordsOf(text).map((word) => ({ type, part, text: word }));

/** Ids follow from the length of the conversation: the same in each run, and new in each turn. */
export function toolCallParts(calls: readonly ScriptedToolCall[], request: ModelRequest): readonly ModelPart[] {
  return calls.map(({ name, arguments: input = {}, id }, index) => ({
    type: "tool-call",
    id: id ?? `call_${request.messages.length}_${index + 1}`,
    name,
    argumentsText: typeof input === "string" ? input : JSON.stringify(input),
  }));
}

/** Yields the parts as a network would: with a pause before each, if wanted, and no longer than the signal allows. */
export async function* paced(
  parts: Iterable<ModelPart>,
  { signal }: ModelRequest,
  delayMs: number,
): AsyncGenerator<ModelPart, void, undefined> {
  for (const part of parts) {
    if (delayMs > 0) await sleep(delayMs, signal);
    signal?.throwIfAborted();
    yield part;
  }
}
