/** So many threads are remembered; the others cost a round trip more. */
const MOST = 10_000;

/** Threads that had long values when they were read last: the query for short ones would be in vain. */
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
