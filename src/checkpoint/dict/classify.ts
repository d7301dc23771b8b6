import type { ErrorCode } from "../../errors.ts";
import { NETWORK_CODES } from "../../internal/network-codes.ts";

/** The codes for Node's own network, file and timeout errors. A storage may also throw a StateError itself. */
const BY_CODE: Readonly<Record<string, ErrorCode>> = {
  ...NETWORK_CODES,
  EMFILE: "UNAVAILABLE",
  EBUSY: "UNAVAILABLE",
  ENOSPC: "STORAGE_FULL",
  EDQUOT: "STORAGE_FULL",
  EACCES: "PERMISSION_DENIED",
  EPERM: "PERMISSION_DENIED",
  EROFS: "PERMISSION_DENIED",
};

export function classify(error: unknown): ErrorCode | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === "TimeoutError") return "TIMEOUT";
  // fetch() throws "fetch failed" and keeps the reason in the cause.
  return byCode(error) ?? byCode(error.cause);
}

function byCode(error: unknown): ErrorCode | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
}
