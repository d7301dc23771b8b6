import type { ErrorCode } from "../../errors.ts";

/** What Node's own network, file and timeout errors mean; a storage may also throw a StateError and say it itself. */
const BY_CODE: Readonly<Record<string, ErrorCode>> = {
  ECONNREFUSED: "UNAVAILABLE",
  ECONNRESET: "UNAVAILABLE",
  ECONNABORTED: "UNAVAILABLE",
  EPIPE: "UNAVAILABLE",
  ENETDOWN: "UNAVAILABLE",
  ENETUNREACH: "UNAVAILABLE",
  EHOSTUNREACH: "UNAVAILABLE",
  ENOTFOUND: "UNAVAILABLE",
  EAI_AGAIN: "UNAVAILABLE",
  EMFILE: "UNAVAILABLE",
  EBUSY: "UNAVAILABLE",
  UND_ERR_SOCKET: "UNAVAILABLE",
  ETIMEDOUT: "TIMEOUT",
  UND_ERR_CONNECT_TIMEOUT: "TIMEOUT",
  UND_ERR_HEADERS_TIMEOUT: "TIMEOUT",
  UND_ERR_BODY_TIMEOUT: "TIMEOUT",
  ENOSPC: "STORAGE_FULL",
  EDQUOT: "STORAGE_FULL",
  EACCES: "PERMISSION_DENIED",
  EPERM: "PERMISSION_DENIED",
  EROFS: "PERMISSION_DENIED",
};

export function classify(error: unknown): ErrorCode | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === "TimeoutError") return "TIMEOUT";
  // fetch() says "fetch failed" and keeps the reason in the cause.
  return byCode(error) ?? byCode(error.cause);
}

function byCode(error: unknown): ErrorCode | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
}
