import { onTestFinished, vi } from "vitest";

/**
 * A time limit that passes when a test says so. Nothing else sets a timer of this length.
 */
export const HELD_MS = 60_007;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Timers of one length, whatever sets them, fire when the test says so and never by themselves. A limit short enough to
 * wait for would also pass while a busy machine stalls, and then it ends what should have been answered.
 */
export class HeldTimers {
  readonly #held = new Map<unknown, () => void>();
  readonly #restore: () => void;

  constructor(heldMs: number = HELD_MS) {
    const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
    const set = (work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): NodeJS.Timeout => {
      if (ms !== heldMs) return real.setTimeout(work, ms, ...args);
      const timer = real.setTimeout(() => undefined, LONGEST_TIMER_MS).unref();
      this.#held.set(timer, () => {
        real.clearTimeout(timer);
        work(...args);
      });
      return timer;
    };
    globalThis.setTimeout = Object.assign(set, real.setTimeout) as never;
    globalThis.clearTimeout = (timer) => {
      this.#held.delete(timer);
      real.clearTimeout(timer);
    };
    this.#restore = () => Object.assign(globalThis, real);
  }

  /** For one test. */
  static forThisTest(heldMs?: number): HeldTimers {
    const timers = new HeldTimers(heldMs);
    onTestFinished(() => timers.release());
    return timers;
  }

  /** Until a caller waits for an answer, with that limit. */
  async untilOneWaits(): Promise<void> {
    await vi.waitUntil(() => this.#held.size > 0, { timeout: 60_000, interval: 5 });
  }

  /** The time of all who wait now has passed. */
  expire(): void {
    for (const [timer, fire] of [...this.#held]) {
      this.#held.delete(timer);
      fire();
    }
  }

  /** From now on timers are as they were. */
  release(): void {
    this.#restore();
  }
}
