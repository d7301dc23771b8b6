import { type ErrorCode, reasonOf, StateError } from "../../errors.ts";

/** A request that was answered with an error, or not at all. */
export class OciFailure extends Error {
  override readonly name = "OciFailure";
  /** Absent if there was no answer. */
  readonly status: number | undefined;
  /** The service's error code, like `ObjectNotFound`, or the network's, like `ECONNREFUSED`. */
  readonly code: string;

  constructor(message: string, status: number | undefined, code: string, cause: unknown) {
    super(message, { cause });
    this.status = status;
    this.code = code;
  }
}

/** Errors of the SDK or `fetch`, in one form. Our own errors are returned unchanged. */
export function asFailure(error: unknown): unknown {
  if (StateError.is(error) || error instanceof OciFailure) return error;
  const { statusCode, serviceCode, opcRequestId } = (error ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof statusCode === "number") {
    const request = typeof opcRequestId === "string" ? ` (opc-request-id ${opcRequestId})` : "";
    const message = `${statusCode} ${String(serviceCode)}: ${reasonOf(error)}${request}`;
    return new OciFailure(message, statusCode, String(serviceCode), error);
  }
  const code = networkCode(error);
  if (code === undefined) return error;
  return new OciFailure(`the connection failed: ${code}`, undefined, code, error);
}

/** `fetch` says "fetch failed" or "terminated"; the reason is in the cause. */
function networkCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; depth < 4 && typeof at === "object" && at !== null; depth++) {
    const { code, cause, errors } = at as { code?: unknown; cause?: unknown; errors?: unknown };
    if (typeof code === "string") return code;
    at = Array.isArray(errors) ? errors[0] : cause;
  }
  return error instanceof TypeError && /fetch failed|terminated/.test(error.message) ? "closed" : undefined;
}

export const isObjectAbsent = (error: unknown): boolean =>
  error instanceof OciFailure && error.status === 404 && error.code === "ObjectNotFound";

export const isBucketAbsent = (error: unknown): boolean =>
  error instanceof OciFailure && error.status === 404 && error.code === "BucketNotFound";

/** A condition of the request did not hold. */
export const isRefused = (error: unknown): boolean => error instanceof OciFailure && error.status === 412;

/** Whether a write that failed like this may have been made. */
export function isAmbiguous(error: unknown): boolean {
  if (StateError.is(error, "TIMEOUT")) return true;
  return error instanceof OciFailure && (error.status === undefined || error.status === 409 || error.status >= 500);
}

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "INVALID_ARGUMENT",
  401: "PERMISSION_DENIED",
  403: "PERMISSION_DENIED",
  // `NotAuthorizedOrNotFound`, and every other 404 that is not a missing object: a lost permission must not look like a lost
  // thread.
  404: "PERMISSION_DENIED",
  408: "TIMEOUT",
  409: "UNAVAILABLE",
  412: "UNAVAILABLE",
  413: "TOO_LARGE",
  429: "RATE_LIMITED",
  504: "TIMEOUT",
};

const BY_CODE: Readonly<Record<string, ErrorCode>> = {
  BucketNotFound: "INVALID_ARGUMENT",
  NamespaceNotFound: "INVALID_ARGUMENT",
  QuotaExceeded: "STORAGE_FULL",
  StorageLimitExceeded: "STORAGE_FULL",
};

export function classify(error: unknown): ErrorCode | undefined {
  const failure = asFailure(error);
  if (!(failure instanceof OciFailure)) return undefined;
  const { status, code } = failure;
  if (status === undefined) return /TIMEOUT|TIMEDOUT/.test(code) ? "TIMEOUT" : "UNAVAILABLE";
  return BY_CODE[code] ?? BY_STATUS[status] ?? (status >= 500 ? "UNAVAILABLE" : undefined);
}
