import { ERROR_CODES, type ErrorCode, type ErrorContext, StateError } from "../errors.ts";

/**
 * The table that client and server share. A failure travels as problem+json with
 * its code, so the client throws the same error. The status is for everything in
 * between, and for answers that something in between made up.
 */
export const STATUS_OF: Readonly<Record<ErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  HELD: 423,
  TOO_LARGE: 413,
  UNSUPPORTED: 501,
  STORAGE_FULL: 507,
  RATE_LIMITED: 429,
  TIMEOUT: 504,
  UNAVAILABLE: 503,
  CORRUPT: 500,
  INCOMPATIBLE: 500,
  MISSING_DEPENDENCY: 500,
  CLOSED: 503,
  MODEL_FAILED: 502,
  PENDING: 409,
  UNKNOWN: 500,
};

/**
 * What a status means on an answer that is not ours: from a proxy, a login page
 * or another service. No such answer means "not there", least of all a 404.
 */
const FOREIGN: Readonly<Record<number, ErrorCode>> = {
  401: "PERMISSION_DENIED",
  403: "PERMISSION_DENIED",
  408: "TIMEOUT",
  413: "TOO_LARGE",
  429: "RATE_LIMITED",
  500: "UNAVAILABLE",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "TIMEOUT",
};

export const codeOfForeignStatus = (status: number): ErrorCode => FOREIGN[status] ?? "UNKNOWN";

/** The parts of an error's context that reveal nothing about the inside of a service. */
const SHOWN_CONTEXT = ["capability", "written", "keyId"] as const;

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail?: string;
  /** Identifies this failure in the service's own log. */
  readonly instance?: string;
  readonly context?: ErrorContext;
}

export function problemOf(
  code: ErrorCode,
  options: { status?: number; detail?: string; instance?: string; context?: ErrorContext } = {},
): Problem {
  const { status = STATUS_OF[code], detail, instance, context = {} } = options;
  const shown = SHOWN_CONTEXT.filter((name) => context[name] !== undefined).map((name) => [name, context[name]]);
  return {
    type: `urn:holdfast:problem:${code}`,
    title: ERROR_CODES[code].means,
    status,
    code,
    ...(detail !== undefined && { detail }),
    ...(instance !== undefined && { instance }),
    ...(shown.length > 0 && { context: Object.fromEntries(shown) as ErrorContext }),
  };
}

/**
 * The failure that one of our problem documents reports; `undefined` for any other
 * document. `extra` is what the headers say.
 */
export function errorFromProblem(value: unknown, extra: ErrorContext = {}): StateError | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { code, title, detail, instance, context } = value as Partial<Record<keyof Problem, unknown>>;
  if (typeof code !== "string" || !Object.hasOwn(ERROR_CODES, code)) return undefined;
  const known = code as ErrorCode;
  const words = [detail, title, ERROR_CODES[known].means].find((text) => typeof text === "string" && text !== "");
  const which = typeof instance === "string" ? ` (${instance})` : "";
  const given = typeof context === "object" && context !== null ? (context as Record<string, unknown>) : {};
  const kept = SHOWN_CONTEXT.filter((name) => typeof given[name] === "string").map((name) => [name, given[name]]);
  const told = { ...extra, ...(Object.fromEntries(kept) as ErrorContext) };
  return new StateError(known, `the service answered: ${words}${which}`, told);
}
