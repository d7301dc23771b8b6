import type { GeneratedPart, GeneratedWords, GenerateResult, StreamPart } from "./specification.ts";

/** A whole answer as if it had been streamed: for models that can do no better. */
export async function* asStream(result: GenerateResult): AsyncGenerator<StreamPart, void, undefined> {
  const { content, finishReason, usage, warnings = [], providerMetadata } = result;
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  yield { type: "stream-start", warnings };
  for (const [index, part] of content.entries()) {
    if (isWords(part)) {
      const { type, text, ...rest } = part;
      yield { type: `${type}-start`, id: String(index), ...rest };
      yield { type: `${type}-delta`, id: String(index), delta: text };
      yield { type: `${type}-end`, id: String(index) };
    } else yield part;
  }
  // An answer that came in one piece is whole, even without a finish reason.
  const { unified, raw } = typeof finishReason === "string" ? { unified: finishReason, raw: undefined } : finishReason;
  yield { type: "finish", finishReason: { unified, raw: raw ?? "generated" }, usage, ...metadata };
}

const isWords = (part: GeneratedPart): part is GeneratedWords => part.type === "text" || part.type === "reasoning";
