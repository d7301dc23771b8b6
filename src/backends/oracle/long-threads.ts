/** How many threads are remembered; others cost one more round trip. */
const MOST = 10_000;

/** Threads that had long values when they were last read: the query for short values would be wasted. */
export class LongThreads {
  readonly #threadIds = new Set<string>();

  has(threadId: string): boolean {
    return this.#threadIds.has(threadId);
  }

  note(threadId: string, isLong: boolean): void {
    this.#threadIds.delete(threadId);
    if (!isLong) return;
    this.#threadIds.add(threadId);
    const [oldest] = this.#threadIds;
    if (this.#threadIds.size > MOST && oldest !== undefined) this.#threadIds.delete(oldest);
  }
}
