import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { ERROR_CODES, type ErrorCode, StateError } from "../errors.ts";
import { redact } from "../internal/redact.ts";
import { Refusal } from "../server/request/refusal.ts";
import { STATUS_OF } from "../wire/problems.ts";
import type { PageFile } from "./page-files.ts";
import { MOST_ANSWER_BYTES } from "./routes.ts";
import type { Problem } from "./service-api.ts";

/**
 * Sent with every answer: it must not be sniffed for a type, framed, or read from another
 * origin.
 */
const ALWAYS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

/** Nothing but the page's own script and style; no markup is ever made of text. */
export const PAGE_POLICY: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const API_HEADERS = {
  ...ALWAYS,
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};

const WORTH_PACKING = 4096;
const pack = promisify(gzip);

const takesGzip = ({ headers }: IncomingMessage): boolean =>
  /\bgzip\b/.test(headers["accept-encoding"]?.toString() ?? "");

export function sendFile(incoming: IncomingMessage, outgoing: ServerResponse, file: PageFile): void {
  const isPacked = takesGzip(incoming);
  const body = isPacked ? file.packed : file.bytes;
  outgoing.writeHead(200, {
    ...ALWAYS,
    "content-security-policy": PAGE_POLICY,
    "content-type": file.type,
    "content-length": body.byteLength,
    "cache-control": file.isForever ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding",
    ...(isPacked && { "content-encoding": "gzip" }),
  });
  outgoing.end(incoming.method === "HEAD" ? undefined : body);
}

/** An answer that would be too large is a fault of ours, and still is not sent. */
export async function sendJson(incoming: IncomingMessage, outgoing: ServerResponse, answer: object): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(answer));
  if (bytes.byteLength > MOST_ANSWER_BYTES) {
    throw new StateError(
      "TOO_LARGE",
      `the answer has ${bytes.byteLength} bytes; at most ${MOST_ANSWER_BYTES} are sent`,
    );
  }
  const isPacked = bytes.byteLength >= WORTH_PACKING && takesGzip(incoming);
  const body = isPacked ? await pack(bytes, { level: 1 }) : bytes;
  outgoing.writeHead(200, {
    ...API_HEADERS,
    "content-type": "application/json",
    "content-length": body.byteLength,
    ...(isPacked && { "content-encoding": "gzip" }),
  });
  outgoing.end(body);
}

/** One JSON object a line, as they come. What fails before the first one is told as any failure is. */
export async function sendLines(
  outgoing: ServerResponse,
  lines: AsyncIterable<object>,
  signal: AbortSignal,
): Promise<void> {
  const iterator = lines[Symbol.asyncIterator]();
  let next = await iterator.next();
  outgoing.writeHead(200, { ...API_HEADERS, "content-type": "application/x-ndjson" });
  while (next.done !== true && !signal.aborted) {
    const isTaken = outgoing.write(`${JSON.stringify(next.value)}\n`);
    if (!isTaken) await once(outgoing, "drain", { signal }).catch(() => undefined);
    next = await iterator.next();
  }
  await iterator.return?.();
  outgoing.end();
}

/**
 * What went wrong, for the user who started this Studio: they see what a command would print, without
 * secrets.
 */
export function sendProblem(outgoing: ServerResponse, error: unknown): void {
  if (outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  const problem = problemOf(error);
  const { status = STATUS_OF[problem.code], headers = {} } = error instanceof Refusal ? error : {};
  outgoing.writeHead(status, {
    ...API_HEADERS,
    "content-type": "application/problem+json",
    ...headers,
    connection: "close",
  });
  outgoing.end(JSON.stringify(problem));
}

function problemOf(error: unknown): Problem & { readonly code: ErrorCode } {
  if (!StateError.is(error)) return { code: "UNKNOWN", title: ERROR_CODES.UNKNOWN.means };
  return { code: error.code, title: ERROR_CODES[error.code].means, detail: redact(error.message).slice(0, 2000) };
}
