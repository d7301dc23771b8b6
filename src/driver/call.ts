import { ERROR_CODES, StateError } from "../errors.ts";
import { redact, redactCause } from "../internal/redact.ts";
import { sleep } from "../internal/time.ts";
import type { Driver } from "./driver.ts";

export interface RetryPolicy {
  /**
   * How many attempts a call gets in all when it fails with a retryable code.
   * @default 4 until the storage was first reached, so that a wrong address shows
   * quickly; after that as many as `forMs` allows.
   */
  readonly attempts?: number;
  /**
   * Once the storage was reached, no attempt starts later than this after the
   * first one, which rides out a failover. @default 5000, or unlimited where
   * `attempts` is given
   */
  readonly forMs?: number;
  /** The pause before the first retry. It doubles up to one second, with random jitter. @default 50 */
  readonly baseDelayMs?: number;
}

const LONGEST_PAUSE_MS = 1_000;

/**
 * The policy for one call. A storage that was never reached is probably at another
 * address, so it gets fewer attempts.
 */
export function policyFor({ attempts, forMs, baseDelayMs = 50 }: RetryPolicy, wasReached: boolean): RetryPolicy {
  if (!wasReached) return { attempts: attempts ?? 4, baseDelayMs };
  const bound = forMs ?? (attempts === undefined ? 5_000 : Number.POSITIVE_INFINITY);
  return { attempts: attempts ?? Number.POSITIVE_INFINITY, forMs: bound, baseDelayMs };
}

export interface CallPlace {
  readonly operation: string;
  readonly threadId?: string;
  readonly checkpointId?: string;
  /** For a store: the namespace and the key, in readable form. */
  readonly item?: string;
}

/** What a failure is reported with. */
type Called = Pick<Driver, "name" | "classify" | "secrets">;

/**
 * The one place where a driver is called. What the client threw becomes a StateError
 * here, and transient failures are retried. Retrying is safe because every write
 * carries its own id. `failed` is called for every attempt that fails.
 */
export async function callDriver<D extends Called, T>(
  driver: D,
  retry: RetryPolicy,
  place: CallPlace,
  call: (driver: D) => Promise<T>,
  closing?: AbortSignal,
  failed?: (error: unknown) => void,
): Promise<T> {
  const begun = performance.now();
  try {
    try {
      return await call(driver);
    } catch (error) {
      failed?.(error);
      return await retryingAfter(error, begun, driver, retry, call, closing, failed);
    }
  } catch (error) {
    throw asStateError(driver, place, error);
  }
}

/** A longer Retry-After is reported to the caller instead of being waited for. */
const LONGEST_WAIT_MS = 10_000;

/**
 * Retries transient failures until `closing`; throws what the driver threw. For
 * work that several callers share, where each adds its own place to the error.
 */
export async function retrying<D extends Called, T>(
  driver: D,
  retry: RetryPolicy,
  call: (driver: D) => Promise<T>,
  closing?: AbortSignal,
): Promise<T> {
  const begun = performance.now();
  try {
    return await call(driver);
  } catch (error) {
    return retryingAfter(error, begun, driver, retry, call, closing);
  }
}

/** Retries after a failed first attempt, which nearly every call avoids. */
async function retryingAfter<D extends Called, T>(
  first: unknown,
  begun: number,
  driver: D,
  { attempts = 4, forMs = Number.POSITIVE_INFINITY, baseDelayMs = 50 }: RetryPolicy,
  call: (driver: D) => Promise<T>,
  closing?: AbortSignal,
  failed?: (error: unknown) => void,
): Promise<T> {
  const end = begun + forMs;
  let error = first;
  for (let attempt = 1; ; attempt++) {
    const asked = (StateError.is(error) && error.context.retryAfterMs) || 0;
    const pause = asked + Math.random() * Math.min(baseDelayMs * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
    const isTooLong = asked > LONGEST_WAIT_MS || performance.now() + pause > end;
    if (!isRetryable(driver, error) || attempt >= attempts || isTooLong) throw error;
    const failure = error;
    await sleep(pause, closing).catch(() => {
      throw failure;
    });
    try {
      return await call(driver);
    } catch (next) {
      failed?.(next);
      error = next;
    }
  }
}

const isRetryable = (driver: Called, error: unknown): boolean =>
  StateError.is(error) ? error.retryable : ERROR_CODES[driver.classify(error) ?? "UNKNOWN"].retryable;

/** `redis: load failed for thread "t1": NOAUTH Authentication required.` */
export function asStateError(driver: Called, place: CallPlace, error: unknown): StateError {
  const context = { backend: driver.name, ...place };
  const { secrets } = driver;
  if (StateError.is(error)) {
    if (error.context.backend !== undefined) return error;
    const message = `${where(driver, place)}: ${redact(error.message, secrets)}`;
    const cause = redactCause(error.cause, secrets);
    return new StateError(error.code, message, { ...error.context, ...context, cause });
  }
  const code = driver.classify(error) ?? "UNKNOWN";
  const reason = redact(error instanceof Error ? error.message : String(error), secrets);
  return new StateError(code, `${where(driver, place)}: ${reason}`, { ...context, cause: redactCause(error, secrets) });
}

function where(driver: Pick<Driver, "name">, { operation, threadId, item }: CallPlace): string {
  const ofItem = item === undefined ? "" : ` for ${item}`;
  const which = threadId === undefined ? ofItem : ` for thread ${JSON.stringify(threadId)}`;
  return `${driver.name}: ${operation} failed${which}`;
}
