import type { ErrorCode } from "../../errors.ts";
import { MalformedMessage } from "../../wire/fields.ts";

/** How fetch reports that nobody answered, or that the line went dead: all of it may pass. */
const UNREACHABLE = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ETIMEDOUT",
  "EADDRNOTAVAIL",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
]);

/** fetch hides the reason in `cause`, and where several addresses were tried, in `errors` below it. */
export function classify(error: unknown, depth = 0): ErrorCode | undefined {
  if (typeof error !== "object" || error === null || depth > 4) return undefined;
  if (error instanceof MalformedMessage) return "UNAVAILABLE";
  const { name, code, message, cause, errors } = error as Partial<Record<string, unknown>>;
  if (name === "TimeoutError") return "TIMEOUT";
  if (typeof code === "string") {
    if (UNREACHABLE.has(code)) return "UNAVAILABLE";
    if (code.startsWith("HPE_")) return "UNAVAILABLE";
  }
  const inner = [cause, ...(Array.isArray(errors) ? errors : [])].map((part) => classify(part, depth + 1));
  const found = inner.find((part) => part !== undefined);
  if (found !== undefined) return found;
  // A body that ended too early, where undici gives no code.
  return error instanceof TypeError && message === "terminated" ? "UNAVAILABLE" : undefined;
}
