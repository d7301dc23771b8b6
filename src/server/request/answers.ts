import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type ErrorCode, StateError } from "../../errors.ts";
import { MalformedMessage } from "../../wire/fields.ts";
import { problemOf, STATUS_OF } from "../../wire/problems.ts";
import { FRAME_TYPE, JSON_TYPE, PROBLEM_TYPE, PROTOCOL_HEADER, PROTOCOL_VERSION } from "../../wire/protocol.ts";
import type { ReadHeaders } from "./calls.ts";
import type { ReportedFailure } from "./options.ts";
import { Refusal } from "./refusal.ts";

/** What an operation answers, before it is put on the wire. */
export interface Answer {
  readonly status: number;
  /**
   * The body's type; both are missing where there is nothing to say beyond the status.
   */
  readonly type: string | undefined;
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export const jsonAnswer = (value: object, status = 200, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  type: JSON_TYPE,
  body: JSON.stringify(value),
  headers,
});

export const frameAnswer = (frame: Uint8Array, headers: Readonly<Record<string, string>>): Answer => ({
  status: 200,
  type: FRAME_TYPE,
  body: frame,
  headers,
});

/** Sent with every answer: it must not be cached, sniffed for a type, framed or run. */
const ALWAYS = {
  [PROTOCOL_HEADER]: PROTOCOL_VERSION,
  "cache-control": "no-store",
  vary: "accept-encoding, origin",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/** Below this, packing costs more than it saves. */
const WORTH_PACKING = 4096;
const pack = promisify(gzip);

/** An answer with everything that goes on the wire. */
export interface SentAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | undefined;
}

/** The answer with all its headers, packed if the client takes that. `extra` is added to every answer, refusals too. */
export async function sendable(
  { status, type, body, headers = {} }: Answer,
  asked: ReadHeaders,
  extra: Readonly<Record<string, string>> = {},
): Promise<SentAnswer> {
  const all = { ...ALWAYS, ...extra, ...(type !== undefined && { "content-type": type }), ...headers };
  if (body === undefined || body instanceof ReadableStream) return { status, headers: all, body };
  const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
  if (bytes.byteLength < WORTH_PACKING || !acceptsGzip(asked)) {
    return { status, headers: { ...all, "content-length": String(bytes.byteLength) }, body: bytes };
  }
  const packed = await pack(bytes, { level: 1 });
  const packing = { "content-encoding": "gzip", "content-length": String(packed.length) };
  return { status, headers: { ...all, ...packing }, body: packed };
}

const acceptsGzip = (asked: ReadHeaders): boolean =>
  (asked.get("accept-encoding") ?? "")
    .split(",")
    .some((part) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(part));

/**
 * A failure as the client may see it. Refusals are about the request and speak
 * for themselves; of everything else only the code goes out, and an id under
 * which the operator finds the rest.
 */
export function failureAnswer(error: unknown, operation: string, report: (failure: ReportedFailure) => void): Answer {
  if (error instanceof Refusal) {
    const { code, message, status = STATUS_OF[code] } = error;
    return problemAnswer(code, { status, detail: message }, error.headers);
  }
  if (error instanceof MalformedMessage) {
    return problemAnswer("INVALID_ARGUMENT", { detail: error.message });
  }
  const instance = `urn:uuid:${randomUUID()}`;
  try {
    report({ instance, operation, error });
  } catch {
    // A reporter that fails must not take the answer with it.
  }
  if (!StateError.is(error)) return problemAnswer("UNKNOWN", { instance });
  return problemAnswer(error.code, { instance, context: error.context });
}

export function problemAnswer(
  code: ErrorCode,
  details: Parameters<typeof problemOf>[1],
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const problem = problemOf(code, details);
  return { status: problem.status, type: PROBLEM_TYPE, body: JSON.stringify(problem), headers };
}
