import { type ItemWords, WORD_WEIGHTS } from "../driver/store-driver.ts";

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

/** How rare a word is among this many items: rarer words count for more. */
export const rarity = (items: number, having: number): number => Math.log(1 + (items - having + 0.5) / (having + 0.5));

/** What a word adds to an item's score: repetitions count for less, and so do words of long texts. */
export function wordScore(weight: number, count: number, length: number, average: number): number {
  const fullness = SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / average);
  return (weight * count * (SATURATION + 1)) / (count + fullness);
}

/** Okapi BM25. 0 where an item has no such word. */
export function bm25Scores(items: readonly WordCounts[], words: readonly string[]): readonly number[] {
  const average = items.reduce((sum, { length }) => sum + length, 0) / Math.max(1, items.length) || 1;
  const weights = words.map((word) => {
    const having = items.reduce((count, { counts }) => count + (counts.has(word) ? 1 : 0), 0);
    return [word, rarity(items.length, having)] as const;
  });
  return items.map(({ counts, length }) =>
    weights.reduce((sum, [word, weight]) => sum + wordScore(weight, counts.get(word) ?? 0, length, average), 0),
  );
}

/** Which items have a word, for a store in memory. How rare a word is, is counted over all of them. */
export class WordIndex<Item> {
  readonly #having = new Map<string, Map<Item, WordCounts>>();
  #items = 0;
  #length = 0;

  add(item: Item, words: WordCounts | undefined): void {
    if (words === undefined) return;
    this.#items++;
    this.#length += words.length;
    for (const word of words.counts.keys()) {
      const items = this.#having.get(word);
      if (items === undefined) this.#having.set(word, new Map([[item, words]]));
      else items.set(item, words);
    }
  }

  /** With the words that it was added with. */
  delete(item: Item, words: WordCounts | undefined): void {
    if (words === undefined) return;
    this.#items--;
    this.#length -= words.length;
    for (const word of words.counts.keys()) {
      const items = this.#having.get(word);
      items?.delete(item);
      if (items?.size === 0) this.#having.delete(word);
    }
  }

  /** Every item that has one of the words, by Okapi BM25. */
  scores(words: readonly string[]): ReadonlyMap<Item, number> {
    const average = this.#length / Math.max(1, this.#items) || 1;
    const scores = new Map<Item, number>();
    for (const word of words) {
      const having = this.#having.get(word);
      if (having === undefined) continue;
      const weight = rarity(this.#items, having.size);
      for (const [item, { counts, length }] of having) {
        const score = wordScore(weight, counts.get(word) ?? 0, length, average);
        scores.set(item, (scores.get(item) ?? 0) + score);
      }
    }
    return scores;
  }
}
