import type { ErrorCode } from "../../errors.ts";
import { NETWORK_CODES } from "../../internal/network-codes.ts";
import { MalformedMessage } from "../../wire/fields.ts";

/** A truncated or garbled body means a broken connection. */
const BY_CODE: Readonly<Record<string, ErrorCode>> = {
  ...NETWORK_CODES,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "UNAVAILABLE",
  ERR_STREAM_PREMATURE_CLOSE: "UNAVAILABLE",
};

/** fetch hides the reason in `cause`, and in `errors` below it if several addresses were tried. */
export function classify(error: unknown, depth = 0): ErrorCode | undefined {
  if (typeof error !== "object" || error === null || depth > 4) return undefined;
  if (error instanceof MalformedMessage) return "UNAVAILABLE";
  const { name, code, message, cause, errors } = error as Partial<Record<string, unknown>>;
  if (name === "TimeoutError") return "TIMEOUT";
  if (typeof code === "string") {
    if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code];
    if (code.startsWith("HPE_") || code.startsWith("Z_")) return "UNAVAILABLE";
  }
  const inner = [cause, ...(Array.isArray(errors) ? errors : [])].map((part) => classify(part, depth + 1));
  const found = inner.find((part) => part !== undefined);
  if (found !== undefined) return found;
  // A truncated body, for which undici gives no code.
  return error instanceof TypeError && message === "terminated" ? "UNAVAILABLE" : undefined;
}
