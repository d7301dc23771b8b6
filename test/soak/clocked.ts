import { type ErrorCode, StateError } from "../../src/errors.ts";

/** What was called how often, how it ended, and the longest wait. */
export interface CallFigures {
  calls: number;
  failures: number;
  longestMs: number;
}

/** `written`, of a failed call, is what its error says about what it wrote. */
export type CallEnd<T> = { readonly answer: T } | { readonly failed: ErrorCode; readonly written: unknown };

/** Calls under a clock: each ends within the bound, in an answer or in an error that its caller expects. */
export class ClockedCalls {
  readonly figures: Map<string, CallFigures> = new Map();
  readonly #boundMs: number;

  constructor(boundMs: number) {
    this.#boundMs = boundMs;
  }

  /** The answer, or the code of a failure that is one of `expected`. Anything else, a late end included, throws. */
  async make<T>(what: string, call: () => Promise<T>, expected: readonly ErrorCode[]): Promise<CallEnd<T>> {
    const figures = this.figures.get(what) ?? { calls: 0, failures: 0, longestMs: 0 };
    this.figures.set(what, figures);
    const began = performance.now();
    figures.calls++;
    try {
      return { answer: await withinBound(what, this.#boundMs, call()) };
    } catch (error) {
      if (!StateError.is(error) || !expected.includes(error.code)) throw error;
      figures.failures++;
      return { failed: error.code, written: error.context.written };
    } finally {
      figures.longestMs = Math.max(figures.longestMs, performance.now() - began);
    }
  }

  get longestMs(): number {
    return Math.max(...[...this.figures.values()].map(({ longestMs }) => longestMs));
  }
}

async function withinBound<T>(what: string, boundMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not end within ${boundMs} ms`)), boundMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
