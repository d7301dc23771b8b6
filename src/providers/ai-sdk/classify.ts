import { StateError } from "../../errors.ts";
import { redact, redactCause } from "../../internal/redact.ts";
import { ModelError } from "../../models/model-error.ts";

/** What the AI SDK's errors and the providers' own error frames may say about themselves. */
interface ErrorMarks {
  readonly message?: unknown;
  readonly isRetryable?: unknown;
  readonly statusCode?: unknown;
  readonly responseHeaders?: unknown;
  readonly type?: unknown;
  readonly code?: unknown;
  readonly data?: unknown;
  readonly error?: unknown;
  readonly cause?: unknown;
}

/** Whatever a provider threw or streamed, as our error: `openai:gpt-5: HTTP 429: Rate limit reached`. */
export function asModelError(error: unknown, id: string, secrets: readonly string[]): StateError {
  if (StateError.is(error)) return error;
  const marks = marksOf(error);
  const status = typeof marks.statusCode === "number" ? marks.statusCode : undefined;
  const isAboutKeys = status === 401 || status === 403;
  const hidden = [...secrets, ...keysIn(messageOf(error), isAboutKeys ? LONG_WORD : KEY_SHAPE)];
  const reason = redact(messageOf(error), hidden);
  const parts = [id, ...(status === undefined ? [] : [`HTTP ${status}`]), `${reason}${adviceFor(status)}`];
  const retryAfterMs = retryAfter(marks.responseHeaders);
  return new ModelError(parts.join(": "), {
    retryable: isRetryable(marks, status),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(status !== undefined && { status }),
    cause: redactCause(error, hidden),
  });
}

const marksOf = (error: unknown): ErrorMarks =>
  typeof error === "object" && error !== null ? (error as ErrorMarks) : {};

function messageOf(error: unknown): string {
  const { message, error: inner } = marksOf(error);
  if (typeof message === "string" && message !== "") return message;
  if (typeof error === "string") return error;
  return inner === undefined ? "the provider failed and did not say why" : messageOf(inner);
}

/** Providers like to quote the key they refuse. */
const KEY_SHAPE = /\b(?:sk|pk|rk|gsk|xai|AIza|ocid1\.generativeaiapikey)[-_.*a-zA-Z0-9]{8,}/g;

/** Where a key was refused, also one of a shape that no list has: a long word with digits in it, or one that is masked in part. */
const LONG_WORD = /[-_.*a-zA-Z0-9]{8,}/g;

function keysIn(text: string, shape: RegExp): readonly string[] {
  const found = text.match(shape) ?? [];
  return shape === KEY_SHAPE ? found : found.filter((word) => word.match(KEY_SHAPE) !== null || isKeyLike(word));
}

/** Names of models are made of short pieces. */
const isKeyLike = (word: string): boolean =>
  word.includes("***") || word.split(/[-_.]/).some((piece) => piece.length >= 16 && /\d/.test(piece));

function adviceFor(status: number | undefined): string {
  if (status === 401 || status === 403) return " (check the API key and what it may use)";
  return status === 404 ? " (check the model's name and the endpoint)" : "";
}

const PASSING = /overloaded|rate_limit|server_error|api_error|timeout|unavailable/i;
const BROKEN_CONNECTION = /^(?:E(?:CONN|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|AI_AGAIN)|UND_ERR_)/;

function isRetryable(marks: ErrorMarks, status: number | undefined): boolean {
  const words = [marks, marksOf(marks.data), marksOf(marks.error), marksOf(marksOf(marks.data).error)]
    .flatMap(({ type, code }) => [type, code])
    .filter((word) => typeof word === "string");
  // Answered with 429 like a passing limit, but waiting does not fill an account.
  if (words.includes("insufficient_quota")) return false;
  if (typeof marks.isRetryable === "boolean") return marks.isRetryable;
  if (status !== undefined) return [408, 409, 429].includes(status) || status >= 500;
  return words.some((word) => PASSING.test(word)) || isBrokenConnection(marks);
}

/** What fetch throws says little ("terminated"); the socket's own code is in its cause. */
function isBrokenConnection({ code, cause }: ErrorMarks): boolean {
  if (typeof code === "string" && BROKEN_CONNECTION.test(code)) return true;
  return cause !== undefined && isBrokenConnection(marksOf(cause));
}

function retryAfter(headers: unknown): number | undefined {
  const entries = Object.entries(marksOf(headers)).map(([name, value]) => [name.toLowerCase(), value] as const);
  const found = new Map<string, unknown>(entries);
  const ms = Number(found.get("retry-after-ms"));
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const text = found.get("retry-after");
  if (typeof text !== "string" || text === "") return undefined;
  const seconds = Number(text);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}
