import type { RateLimit } from "./options.ts";
import { Refusal } from "./refusal.ts";

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** A bucket for each key, that fills steadily and that every request takes from. */
export class RateLimiter {
  readonly #limit: RateLimit | false;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** `now` in milliseconds from any beginning; it must not go back. */
  constructor(limit: RateLimit | false, now: () => number = () => performance.now()) {
    this.#limit = limit;
    this.#now = now;
  }

  take(key: string): void {
    if (this.#limit === false) return;
    const { perSecond, burst } = this.#limit;
    const now = this.#now();
    const bucket = this.#buckets.get(key) ?? { tokens: burst, filledAt: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.filledAt) / 1000) * perSecond);
    bucket.filledAt = now;
    this.#buckets.set(key, bucket);
    if (bucket.tokens >= 1) {
      bucket.tokens--;
      return;
    }
    const seconds = Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond));
    throw new Refusal("RATE_LIMITED", `more than ${perSecond} requests a second`, {
      headers: { "retry-after": String(seconds) },
    });
  }
}
