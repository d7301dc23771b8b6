/**
 * Every failure of holdfast is a `StateError`. Branch on `code`: codes are
 * stable between major versions, messages are not. A wrong *type* handed in by
 * a programmer is a plain `TypeError`; an abort stays the platform's `AbortError`.
 */

export type ErrorCode =
  | "INVALID_ARGUMENT"
  | "PERMISSION_DENIED"
  | "NOT_FOUND"
  | "CONFLICT"
  | "HELD"
  | "TOO_LARGE"
  | "UNSUPPORTED"
  | "STORAGE_FULL"
  | "RATE_LIMITED"
  | "TIMEOUT"
  | "UNAVAILABLE"
  | "CORRUPT"
  | "INCOMPATIBLE"
  | "MISSING_DEPENDENCY"
  | "CLOSED"
  | "MODEL_FAILED"
  | "PENDING"
  | "UNKNOWN";

/** What each code means, and whether the same call may succeed when repeated. */
export const ERROR_CODES: Readonly<Record<ErrorCode, { readonly retryable: boolean; readonly means: string }>> = {
  INVALID_ARGUMENT: { retryable: false, means: "a value that cannot be accepted; nothing was written" },
  PERMISSION_DENIED: {
    retryable: false,
    means: 'the storage refused the credentials or the operation, or was opened with access: "read"',
  },
  NOT_FOUND: { retryable: false, means: "a thread, checkpoint or store that was named is not there" },
  CONFLICT: { retryable: false, means: "the thread moved on since it was read; load it again, nothing was written" },
  HELD: { retryable: false, means: "a legal hold keeps it; the message says who placed it, why, and how to lift it" },
  TOO_LARGE: { retryable: false, means: "over a limit of the backend or of the codec; nothing was written" },
  UNSUPPORTED: { retryable: false, means: "this backend cannot do that; the message names the capability" },
  STORAGE_FULL: { retryable: false, means: "no space is left; free some and repeat the call" },
  RATE_LIMITED: { retryable: true, means: "the storage asks to slow down" },
  TIMEOUT: { retryable: true, means: "no answer in time; repeating the same call is safe" },
  UNAVAILABLE: { retryable: true, means: "the storage cannot be reached or is not ready; repeating is safe" },
  CORRUPT: { retryable: false, means: "stored bytes are not what was written; the message names them" },
  INCOMPATIBLE: {
    retryable: false,
    means: "written by a newer version: upgrade; or by an older one that read access may not migrate",
  },
  MISSING_DEPENDENCY: { retryable: false, means: "a client package is not installed; the message names it" },
  CLOSED: { retryable: false, means: "used after close()" },
  MODEL_FAILED: { retryable: false, means: "the model did not answer; what was said before is saved" },
  PENDING: {
    retryable: false,
    means:
      "the thread waits for a person or an outcome: `answer` answers, `complete` brings it, `declinePending` gives up",
  },
  UNKNOWN: { retryable: false, means: "the backend could not say what went wrong" },
};

/** Where it happened. Only names and numbers: never a credential, never stored content. */
export interface ErrorContext {
  readonly backend?: string;
  readonly operation?: string;
  readonly threadId?: string;
  readonly checkpointId?: string;
  /** For a store: the namespace and the key, such as `["users","u1"] "profile"`. */
  readonly item?: string;
  /** On `CONFLICT`: the head the caller built on; `null` means "no thread". */
  readonly expected?: string | null;
  /** On `CONFLICT`: the head that is there; `null` means "no thread". */
  readonly actual?: string | null;
  /** Where in a value the trouble lies, e.g. `state.messages[3].metadata.fn`. */
  readonly path?: string;
  /** The file, row or object that is at fault. */
  readonly location?: string;
  /** On `UNSUPPORTED`: the capability flag that is false. */
  readonly capability?: string;
  /** On `PENDING`: the questions that wait. */
  readonly pendingIds?: readonly string[];
  /** On `HELD`: the holds that keep it. */
  readonly holds?: readonly {
    readonly id: string;
    readonly reason: string;
    readonly placedBy: string;
    readonly placedAt: string;
  }[];
  /** On `PERMISSION_DENIED`: the key of a person that the keyring lacks. Only what was sealed with it does not open. */
  readonly keyId?: string;
  /** On `RATE_LIMITED`, `UNAVAILABLE` and the like: how long the other side asks to wait. Repeated calls of our own wait so long. */
  readonly retryAfterMs?: number;
  /** After an ambiguous failure of a write: whether it may have been applied. */
  readonly written?: "no" | "unknown";
}

const BRAND = Symbol.for("holdfast.StateError");

export class StateError extends Error {
  override readonly name = "StateError";
  readonly code: ErrorCode;
  /** Whether repeating the same call, unchanged, may succeed and is safe. */
  readonly retryable: boolean;
  readonly context: ErrorContext;

  constructor(code: ErrorCode, message: string, options: ErrorContext & { readonly cause?: unknown } = {}) {
    const { cause, ...context } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = ERROR_CODES[code].retryable;
    this.context = Object.freeze(context);
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for a StateError of any installed copy of holdfast, optionally of one code. */
  static is(error: unknown, code?: ErrorCode): error is StateError {
    if (typeof error !== "object" || error === null || !(BRAND in error)) return false;
    return code === undefined || (error as unknown as StateError).code === code;
  }
}

/** A text for whatever was thrown, including values that cannot be converted to text. */
export function reasonOf(error: unknown): string {
  try {
    if (error instanceof Error) return String(error.message || error.name);
    return typeof error === "object" && error !== null ? JSON.stringify(error) : String(error);
  } catch {
    return "something that cannot be put into words";
  }
}
