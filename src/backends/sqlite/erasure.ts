import { sleep } from "../../internal/sleep.ts";
import type { SqliteDatabase } from "./connect.ts";

/** A deletion is worth some milliseconds; a thousand of them in a row are worth as many only once a second. */
const LEAST_PAUSE_MS = 1000;
/** While another connection reads, the log cannot be cut off. Whoever closes last removes it anyway. */
const MOST_ATTEMPTS = 60;
const MOST_TRIES_AT_ONCE = 20;

/**
 * `secure_delete` overwrites what is deleted, but the older pages are still in
 * the write-ahead log. Cutting it off removes them. It is tried after a
 * deletion, never waits for others, and is tried again later where they were in
 * the way.
 */
export class Erasure {
  readonly #database: SqliteDatabase;
  #lastAttempt = Number.NEGATIVE_INFINITY;
  #attemptsLeft = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  request(): void {
    this.#attemptsLeft = MOST_ATTEMPTS;
    this.#attemptWhenDue();
  }

  /** Cuts the log off now, waiting a little for those who read. False where they did not end. */
  async settle(): Promise<boolean> {
    for (let attempt = 1; attempt <= MOST_TRIES_AT_ONCE; attempt++) {
      this.#attemptsLeft = MOST_ATTEMPTS;
      if (this.#attempt()) return true;
      await sleep(LEAST_PAUSE_MS / 10);
    }
    this.#attemptWhenDue();
    return false;
  }

  /** Before closing. */
  finish(): void {
    clearTimeout(this.#timer);
    if (this.#attemptsLeft > 0) this.#attempt();
    this.#attemptsLeft = 0;
  }

  #attemptWhenDue(): void {
    if (this.#timer !== undefined || this.#attemptsLeft === 0) return;
    const pause = this.#lastAttempt + LEAST_PAUSE_MS - performance.now();
    if (pause <= 0 && this.#attempt()) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (!this.#attempt()) this.#attemptWhenDue();
      },
      Math.max(pause, LEAST_PAUSE_MS / 10),
    );
    this.#timer.unref();
  }

  #attempt(): boolean {
    this.#lastAttempt = performance.now();
    this.#attemptsLeft--;
    try {
      const { busy } = this.#database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
      if (busy === 0) this.#attemptsLeft = 0;
      return busy === 0;
    } catch {
      // The deletion itself is done. Another attempt follows, and the last one to close removes the log.
      return false;
    }
  }
}
