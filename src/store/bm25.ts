import { type ItemWords, WORD_WEIGHTS } from "./store-driver.ts";

/** How often each word is in an item, by weight, and how many words it has. */
export interface WordCounts {
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

/** For drivers whose storage has no text index of its own. */
export function countWords(words: ItemWords): WordCounts {
  const counts = new Map<string, number>();
  let length = 0;
  for (const kind of ["text", "label", "before", "after"] as const) {
    if (words[kind] === "") continue;
    for (const word of words[kind].split(" ")) {
      counts.set(word, (counts.get(word) ?? 0) + WORD_WEIGHTS[kind]);
      length++;
    }
  }
  return { counts, length };
}

const SATURATION = 1.2;
const LENGTH_SHARE = 0.75;

/** Okapi BM25: rarer words count for more, repetitions for less, long texts for less. 0 where an item has no such word. */
export function bm25Scores(items: readonly WordCounts[], words: readonly string[]): Float64Array {
  let total = 0;
  const having = words.map(() => 0);
  // Most items have no such word: only the others are looked at twice.
  const found: number[] = [];
  for (const [index, { counts, length }] of items.entries()) {
    total += length;
    let isFound = false;
    for (let at = 0; at < words.length; at++) {
      if (!counts.has(words[at] as string)) continue;
      having[at] = (having[at] as number) + 1;
      isFound = true;
    }
    if (isFound) found.push(index);
  }
  const average = total / Math.max(1, items.length) || 1;
  const weights = having.map((count) => Math.log(1 + (items.length - count + 0.5) / (count + 0.5)));
  const scores = new Float64Array(items.length);
  for (const index of found) {
    const { counts, length } = items[index] as WordCounts;
    const fullness = SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / average);
    for (const [at, word] of words.entries()) {
      const count = counts.get(word) ?? 0;
      scores[index] =
        (scores[index] as number) + ((weights[at] as number) * count * (SATURATION + 1)) / (count + fullness);
    }
  }
  return scores;
}
