import type { ErrorCode } from "../../errors.ts";

/** The client's own error classes. */
const BY_CLASS: Readonly<Record<string, ErrorCode>> = {
  TimeoutError: "TIMEOUT",
  ConnectionError: "UNAVAILABLE",
  NoLivingConnectionsError: "UNAVAILABLE",
  RequestAbortedError: "UNAVAILABLE",
  // A truncated answer, or one that did not come from OpenSearch.
  DeserializationError: "UNAVAILABLE",
  ConfigurationError: "INVALID_ARGUMENT",
};

/** The server's error type, where the status says less. */
const BY_TYPE: Readonly<Record<string, ErrorCode>> = {
  // The index is created on first use. If it is missing later, it was deleted, and its threads with it: never "no state".
  index_not_found_exception: "UNAVAILABLE",
  security_exception: "PERMISSION_DENIED",
  circuit_breaking_exception: "RATE_LIMITED",
  rejected_execution_exception: "RATE_LIMITED",
  opensearch_rejected_execution_exception: "RATE_LIMITED",
};

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "INVALID_ARGUMENT",
  401: "PERMISSION_DENIED",
  403: "PERMISSION_DENIED",
  404: "UNAVAILABLE",
  408: "TIMEOUT",
  413: "TOO_LARGE",
  429: "RATE_LIMITED",
  504: "TIMEOUT",
  507: "STORAGE_FULL",
};

/** Past the flood-stage watermark an index takes only deletions. The status was 403 in older versions and is 429 now. */
const FULL = /read-only-allow-delete|flood-stage|no space left on device/i;

/** A failure inside an answer, such as that of one item of a bulk request. */
export class ServerFailure extends Error {
  override readonly name = "ServerFailure";
  readonly statusCode: number;
  readonly body: unknown;

  constructor(statusCode: number, error: unknown) {
    const { type, reason } = (error ?? {}) as { type?: unknown; reason?: unknown };
    super(`${String(type ?? "error")}: ${String(reason ?? statusCode)}`);
    this.statusCode = statusCode;
    this.body = { error };
  }
}

export function classify(error: unknown): ErrorCode | undefined {
  if (!(error instanceof Error)) return undefined;
  if (Object.hasOwn(BY_CLASS, error.name)) return BY_CLASS[error.name];
  const status = statusOf(error);
  if (status === undefined || (error.name !== "ResponseError" && error.name !== "ServerFailure")) return undefined;
  if (FULL.test(error.message)) return "STORAGE_FULL";
  const type = typeOf(error);
  if (Object.hasOwn(BY_TYPE, type)) return BY_TYPE[type];
  return BY_STATUS[status] ?? (status >= 500 ? "UNAVAILABLE" : undefined);
}

export function statusOf(error: unknown): number | undefined {
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  return typeof statusCode === "number" ? statusCode : undefined;
}

/** The server's error type, or "". */
export function typeOf(error: unknown): string {
  const { body } = (error ?? {}) as { body?: { error?: { type?: unknown } } };
  const type = typeof body === "object" ? body?.error?.type : undefined;
  return typeof type === "string" ? type : "";
}
