import { type ErrorCode, StateError } from "../../errors.ts";

interface S3Failure {
  /** The service's error code, like `NoSuchKey`, or that of the network. */
  readonly word: string;
  /** Absent if there was no answer. */
  readonly status: number | undefined;
}

/** The status and code of an answer, or the network's code, from an error of the SDK. */
function failureIn(error: unknown): S3Failure | undefined {
  if (typeof error !== "object" || error === null || StateError.is(error)) return undefined;
  const { name, code, $metadata } = error as {
    name?: unknown;
    code?: unknown;
    $metadata?: { httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  if (status === undefined && typeof code !== "string" && !NO_ANSWER.has(String(name))) return undefined;
  return { word: String(status === undefined && typeof code === "string" ? code : name), status };
}

/** Names of the SDK's errors for requests that got no answer. */
const NO_ANSWER: ReadonlySet<string> = new Set(["TimeoutError", "AbortError", "NetworkingError"]);

export const isObjectAbsent = (error: unknown): boolean => failureIn(error)?.word === "NoSuchKey";

export const isBucketAbsent = (error: unknown): boolean => failureIn(error)?.word === "NoSuchBucket";

/** The condition did not hold, or another conditional write to the same name was in progress: nothing was written. */
export function isRefused(error: unknown): boolean {
  const failure = failureIn(error);
  return failure?.status === 412 || (failure?.status === 409 && failure.word === "ConditionalRequestConflict");
}

/** The user may not do that, or the object is locked against it. */
export const isForbidden = (error: unknown): boolean => failureIn(error)?.status === 403;

/** The service does not support the condition at all. */
export const isNotImplemented = (error: unknown): boolean => failureIn(error)?.status === 501;

/** Whether a write that failed like this may have been made. */
export function isAmbiguous(error: unknown): boolean {
  if (StateError.is(error, "TIMEOUT")) return true;
  const failure = failureIn(error);
  return failure !== undefined && (failure.status === undefined || failure.status >= 500);
}

const BY_WORD: Readonly<Record<string, ErrorCode>> = {
  NoSuchBucket: "INVALID_ARGUMENT",
  InvalidBucketName: "INVALID_ARGUMENT",
  PermanentRedirect: "INVALID_ARGUMENT",
  AuthorizationHeaderMalformed: "INVALID_ARGUMENT",
  CredentialsProviderError: "PERMISSION_DENIED",
  RequestTimeTooSkewed: "PERMISSION_DENIED",
  EntityTooLarge: "TOO_LARGE",
  SlowDown: "RATE_LIMITED",
  RequestTimeout: "TIMEOUT",
  QuotaExceeded: "STORAGE_FULL",
  XMinioStorageFull: "STORAGE_FULL",
};

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "INVALID_ARGUMENT",
  401: "PERMISSION_DENIED",
  403: "PERMISSION_DENIED",
  404: "INVALID_ARGUMENT",
  408: "TIMEOUT",
  409: "UNAVAILABLE",
  412: "UNAVAILABLE",
  413: "TOO_LARGE",
  429: "RATE_LIMITED",
  504: "TIMEOUT",
  507: "STORAGE_FULL",
};

export function classify(error: unknown): ErrorCode | undefined {
  const name = (error as { name?: unknown } | undefined)?.name;
  if (name === "CredentialsProviderError") return "PERMISSION_DENIED";
  const failure = failureIn(error);
  if (failure === undefined) return undefined;
  const { word, status } = failure;
  if (status === undefined) return /TIMEOUT|TIMEDOUT|TimeoutError/.test(word) ? "TIMEOUT" : "UNAVAILABLE";
  return BY_WORD[word] ?? BY_STATUS[status] ?? (status >= 500 ? "UNAVAILABLE" : undefined);
}
