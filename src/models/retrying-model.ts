import { StateError } from "../errors.ts";
import { lateAfter, sleep as waitForTimer } from "../internal/time.ts";
import { heeding } from "./heeding.ts";
import type { Model, ModelPart, ModelRequest } from "./model.ts";
import { ModelError } from "./model-error.ts";

export interface ModelRetryOptions {
  /** How often a request is made in all. @default 4 */
  readonly attempts?: number;
  /** The longest first pause; it doubles each time, and the real pause is drawn at random below it. @default 500 */
  readonly baseDelayMs?: number;
  /** No pause of our own choice is longer than this. @default 20000 */
  readonly maxDelayMs?: number;
  /** A provider that asks to wait longer than this is not waited for: the error is thrown at once. @default 60000 */
  readonly maxRetryAfterMs?: number;
  /** For tests. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** For tests: a number from 0 up to 1. */
  readonly random?: () => number;
}

/**
 * Asks again when a request failed in a way that may pass, but only while
 * nothing was yielded: what a caller has seen cannot be taken back. A model that
 * retries already is returned as it is, so that wrapping twice does not multiply.
 */
export function retryingModel(model: Model, options: ModelRetryOptions = {}): Model {
  return model instanceof RetryingModel ? model : new RetryingModel(model, options);
}

class RetryingModel implements Model {
  readonly id: string;
  readonly runsTools: boolean;
  readonly #model: Model;
  readonly #options: ModelRetryOptions;
  readonly contextWindow?: number;

  constructor(model: Model, options: ModelRetryOptions) {
    this.id = model.id;
    this.runsTools = model.runsTools === true;
    this.#model = model;
    this.#options = options;
    if (model.contextWindow !== undefined) this.contextWindow = model.contextWindow;
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelPart, void, undefined> {
    const { sleep = waitForTimer } = this.#options;
    for (let attempt = 1; ; attempt++) {
      let begun = false;
      try {
        for await (const part of this.#answer(request)) {
          begun = true;
          yield part;
        }
        return;
      } catch (error) {
        const pause = begun ? undefined : pauseAfter(error, attempt, this.#options);
        if (pause === undefined) throw error;
        request.signal?.throwIfAborted();
        request.report?.({ type: "model-retry", model: this.id, attempt, delayMs: pause, error });
        await sleep(pause, request.signal);
      }
    }
  }

  /** One request, in the time that it may take. */
  async *#answer(request: ModelRequest): AsyncGenerator<ModelPart, void, undefined> {
    const { timeoutMs } = request;
    if (timeoutMs === undefined) return yield* this.#model.stream(request);
    const late = new AbortController();
    const stop = lateAfter(timeoutMs, () => late.abort());
    const signal = request.signal === undefined ? late.signal : AbortSignal.any([request.signal, late.signal]);
    try {
      yield* heeding(this.#model.stream({ ...request, signal }), signal);
    } catch (error) {
      if (!late.signal.aborted || request.signal?.aborted === true) throw error;
      // Tools that the provider ran in this request may have acted.
      const retryable = !this.runsTools;
      throw new ModelError(`${this.id} did not answer within ${timeoutMs} ms (modelTimeoutMs)`, { retryable });
    } finally {
      stop();
    }
  }
}

/** How long to wait before the next attempt, or `undefined` when there is to be none. */
function pauseAfter(error: unknown, attempt: number, options: ModelRetryOptions): number | undefined {
  const {
    attempts = 4,
    baseDelayMs = 500,
    maxDelayMs = 20_000,
    maxRetryAfterMs = 60_000,
    random = Math.random,
  } = options;
  if (attempt >= attempts || !StateError.is(error, "MODEL_FAILED") || !error.retryable) return undefined;
  const { retryAfterMs } = error as ModelError;
  if (retryAfterMs === undefined) return random() * Math.min(baseDelayMs * 2 ** (attempt - 1), maxDelayMs);
  // Every refused caller was given the same delay: without a random part, all would come back in the
  // same instant.
  return retryAfterMs > maxRetryAfterMs ? undefined : retryAfterMs + random() * baseDelayMs;
}
