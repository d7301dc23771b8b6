import { StateError } from "../errors.ts";
import type { ModelUsage } from "../models/model.ts";
import type { Message } from "../state/message.ts";
import type { MessageTokens } from "./message-tokens.ts";
import { verifiedQuotes, withStandingWords } from "./standing-words.ts";
import type { Summarizer, Summary } from "./summarize.ts";

export interface WrittenSummary {
  readonly text: string;
  /** What the user asked to hold throughout, as of its last message. */
  readonly standing: readonly string[];
  /** How many messages are in it. */
  readonly upTo: number;
  readonly usage: ModelUsage | undefined;
}

interface Writing {
  readonly write: Summarizer;
  readonly tokens: MessageTokens;
  /** What one request may hold, in tokens of our estimate. */
  readonly perRequest: number;
  readonly maxTokens: number;
  readonly signal: AbortSignal;
  readonly warn: (error: unknown) => void;
}

/**
 * Of a conversation that was never summarised, at most this many parts are read, the newest: each is a
 * request.
 */
const MOST_PARTS = 12;

/**
 * Brings a summary up to a message. What does not fit into one request is read part by
 * part, each with the summary so far. If one fails, what was written before it stands,
 * and the next attempt continues from there.
 */
export async function writeSummary(
  messages: readonly Message[],
  before: Omit<WrittenSummary, "usage">,
  end: number,
  writing: Writing,
): Promise<WrittenSummary> {
  let summary: WrittenSummary = { ...before, usage: undefined };
  for (const [from, to] of partsOf(messages, before.upTo, end, writing).slice(-MOST_PARTS)) {
    try {
      const part = messages.slice(from, to);
      const given = await writing.write({
        previous: summary.text,
        standing: summary.standing,
        messages: part,
        maxTokens: writing.maxTokens,
        signal: writing.signal,
      });
      const { text, usage, standing }: Summary = typeof given === "string" ? { text: given } : given;
      assertUsable(text, writing);
      const known = summary.standing;
      const holds = Array.isArray(standing)
        ? verifiedQuotes(
            standing.filter((quote) => typeof quote === "string"),
            part,
            known,
          )
        : withStandingWords(known, part);
      summary = { text: text.trim(), standing: holds, upTo: to, usage: sum(summary.usage, usage) };
    } catch (error) {
      if (writing.signal.aborted) throw error;
      writing.warn(error);
      break;
    }
  }
  return summary;
}

/** The messages in parts that fit into a request; one that is larger by itself is a part, and is shortened there. */
function partsOf(
  messages: readonly Message[],
  start: number,
  end: number,
  { tokens, perRequest }: Writing,
): readonly (readonly [number, number])[] {
  const parts: [number, number][] = [];
  let [from, size] = [start, 0];
  for (let index = start; index < end; index++) {
    const message = messages[index];
    const added = message === undefined ? 0 : tokens.of(message);
    if (index > from && size + added > perRequest) {
      parts.push([from, index]);
      [from, size] = [index, 0];
    }
    size += added;
  }
  if (end > from) parts.push([from, end]);
  return parts;
}

/** An empty record would silently forget the past; one that is far too long would bring the next compaction at once. */
function assertUsable(text: unknown, { tokens, maxTokens }: Writing): asserts text is string {
  if (typeof text !== "string" || text.trim() === "") {
    throw new StateError("MODEL_FAILED", "the summary of the conversation is empty; the previous one is kept");
  }
  const size = tokens.ofText(text);
  if (size <= maxTokens * 2) return;
  throw new StateError(
    "MODEL_FAILED",
    `the summary of the conversation has about ${size} tokens, where ${maxTokens} were asked for; it is not used`,
  );
}

function sum(a: ModelUsage | undefined, b: ModelUsage | undefined): ModelUsage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
  };
}
