import { rarity, type WordCounts, wordScore } from "./bm25.ts";

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
