import { type Message, textOf } from "../state/message.ts";

/**
 * What the user wants to hold throughout, in the user's own words: a summary
 * would put it into others, and models then follow it less and less. A message
 * with `metadata: { pinned: true }` counts whole; of others, the sentences that
 * say so themselves. When in doubt a sentence is kept: it costs a few tokens.
 */
export function standingWords(messages: readonly Message[]): readonly string[] {
  const found: string[] = [];
  for (const message of messages) {
    if (message.role !== "user") continue;
    if (message.metadata?.["pinned"] === true) found.push(textOf(message).trim());
    else if (message.metadata === undefined || !isOurs(message)) {
      for (const sentence of sentencesOf(textOf(message))) if (STANDING.test(sentence)) found.push(sentence);
    }
  }
  // Each where it was said last.
  const newestFirst = new Set(found.toReversed().filter((words) => words !== ""));
  return [...newestFirst].reverse();
}

/** The newest that fit: what was said last is what counts. */
export function newestWithin(
  words: readonly string[],
  tokens: number,
  count: (text: string) => number,
): readonly string[] {
  const kept: string[] = [];
  let left = tokens;
  for (const text of words.toReversed()) {
    left -= count(text);
    if (left < 0) break;
    kept.push(text);
  }
  return kept.reverse();
}

const STANDING =
  /\b(?:from now on|from here on|going forward|in future|always|never|at all times|every time|under no circumstances|until i (?:say|tell)|for the rest of (?:this|our)|do(?: not|n't) ever|stick to|remember to|keep in mind)\b/i;
const LONGEST_SENTENCE = 400;
const LONGEST_TEXT = 20_000;

/** Code and quotations are somebody else's words. A question asks; it does not tell. */
function sentencesOf(text: string): readonly string[] {
  return text
    .slice(0, LONGEST_TEXT)
    .replace(/```[\s\S]*?(?:```|$)/g, "\n")
    .replace(/^[^\S\r\n\u2028\u2029]*>.*$/gm, "")
    .split(/(?<=[.!?\u3002\uff01\uff1f])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "" && sentence.length <= LONGEST_SENTENCE && !sentence.endsWith("?"));
}

const isOurs = ({ metadata }: Message): boolean =>
  Object.keys(metadata ?? {}).some((key) => key.startsWith("holdfast."));
