import { sleep } from "../../internal/time.ts";
import type { SqliteDatabase } from "./connect.ts";

/** The log is truncated at most once a second: a single deletion can afford the milliseconds, a thousand in a row cannot. */
const LEAST_PAUSE_MS = 1000;
/** While another connection reads, the log cannot be truncated. The last connection to close removes it anyway. */
const MOST_ATTEMPTS = 60;
const MOST_TRIES_AT_ONCE = 20;

/**
 * `secure_delete` overwrites deleted content, but older pages are still in the
 * write-ahead log. Truncating the log removes them. That is tried after a deletion,
 * never waits for other connections, and is retried later if they were in the way.
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

  /** Truncates the log now, waiting briefly for readers. False if they did not finish. */
  async settle(): Promise<boolean> {
    for (let attempt = 1; attempt <= MOST_TRIES_AT_ONCE; attempt++) {
      this.#attemptsLeft = MOST_ATTEMPTS;
      if (this.#attempt()) return true;
      await sleep(LEAST_PAUSE_MS / 10);
    }
    this.#attemptWhenDue();
    return false;
  }

  /** To be called before closing. */
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
      // The deletion itself is done. Truncating is retried later, and the last connection to close removes the log.
      return false;
    }
  }
}
