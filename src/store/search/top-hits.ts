/** The best of many, in a sorted list that is never longer than `limit`. */
export class TopHits<Item> {
  readonly #limit: number;
  readonly #hits: { readonly item: Item; readonly score: number }[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** What a score must exceed to be among the best. */
  get least(): number {
    return this.#hits.length < this.#limit
      ? Number.NEGATIVE_INFINITY
      : (this.#hits.at(-1)?.score ?? Number.POSITIVE_INFINITY);
  }

  /** Of two with the same score, the one that came first stays ahead. */
  add(item: Item, score: number): void {
    if (!(score > this.least)) return;
    let low = 0;
    let high = this.#hits.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#hits[middle]?.score ?? 0) >= score) low = middle + 1;
      else high = middle;
    }
    this.#hits.splice(low, 0, { item, score });
    if (this.#hits.length > this.#limit) this.#hits.pop();
  }

  /** Best first. */
  list(): readonly { readonly item: Item; readonly score: number }[] {
    return this.#hits;
  }
}
