import { ERROR_CODES, StateError } from "../errors.ts";
import { redact, redactCause } from "../internal/redact.ts";
import { sleep } from "../internal/sleep.ts";
import type { Driver } from "./driver.ts";

export interface RetryPolicy {
  /**
   * How often a call that failed with a retryable code is made in all. @default 4
   * until the storage was reached once, so that a wrong address shows at once;
   * then as often as `forMs` allows.
   */
  readonly attempts?: number;
  /** Once the storage was reached: no attempt begins later than this after the first, so that a failover is ridden out. @default 5000, or no bound where `attempts` is given */
  readonly forMs?: number;
  /** The first pause; it doubles each time up to a second, and is shortened at random. @default 50 */
  readonly baseDelayMs?: number;
}

const LONGEST_PAUSE_MS = 1_000;

/** The policy that holds for a call: a storage that was never reached is probably not where it was said to be. */
export function policyFor({ attempts, forMs, baseDelayMs = 50 }: RetryPolicy, wasReached: boolean): RetryPolicy {
  if (!wasReached) return { attempts: attempts ?? 4, baseDelayMs };
  const bound = forMs ?? (attempts === undefined ? 5_000 : Number.POSITIVE_INFINITY);
  return { attempts: attempts ?? Number.POSITIVE_INFINITY, forMs: bound, baseDelayMs };
}

export interface CallPlace {
  readonly operation: string;
  readonly threadId?: string;
  readonly checkpointId?: string;
  /** Of a store: the namespace and the key, as people read them. */
  readonly item?: string;
}

/**
 * The one place where a driver is called: what the client threw becomes a
 * StateError once, and what may pass is tried again. Repeating is safe because
 * every write carries an id of its own.
 */
export async function callDriver<D extends Driver, T>(
  driver: D,
  retry: RetryPolicy,
  place: CallPlace,
  call: (driver: D) => Promise<T>,
  closing?: AbortSignal,
): Promise<T> {
  try {
    return await retrying(driver, retry, call, closing);
  } catch (error) {
    throw asStateError(driver, place, error);
  }
}

/** Whoever asks to wait longer than this is told to the caller, and not waited for. */
const LONGEST_WAIT_MS = 10_000;

/**
 * Tries again what may pass, until `closing`; throws what the driver threw. For
 * work that several callers share, each with a place of its own.
 */
export async function retrying<D extends Driver, T>(
  driver: D,
  { attempts = 4, forMs = Number.POSITIVE_INFINITY, baseDelayMs = 50 }: RetryPolicy,
  call: (driver: D) => Promise<T>,
  closing?: AbortSignal,
): Promise<T> {
  const end = performance.now() + forMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(driver);
    } catch (error) {
      const asked = (StateError.is(error) && error.context.retryAfterMs) || 0;
      const pause = asked + Math.random() * Math.min(baseDelayMs * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
      const isTooLong = asked > LONGEST_WAIT_MS || performance.now() + pause > end;
      if (!isRetryable(driver, error) || attempt >= attempts || isTooLong) throw error;
      await sleep(pause, closing).catch(() => {
        throw error;
      });
    }
  }
}

const isRetryable = (driver: Driver, error: unknown): boolean =>
  StateError.is(error) ? error.retryable : ERROR_CODES[driver.classify(error) ?? "UNKNOWN"].retryable;

/** `redis: load failed for thread "t1": NOAUTH Authentication required.` */
export function asStateError(
  driver: Pick<Driver, "name" | "classify" | "secrets">,
  place: CallPlace,
  error: unknown,
): StateError {
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
