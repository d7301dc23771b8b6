import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { inTime } from "../../internal/time.ts";
import type { ReadHeaders } from "./calls.ts";
import { Refusal } from "./refusal.ts";

/** Reads a whole body, and refuses it as soon as it is longer than `limit`. */
export type CollectBody = (limit: number) => Promise<Buffer>;

/**
 * Reads a whole body and stops as soon as it is longer, or takes longer, than
 * allowed: before anything is done with it, and whatever Content-Length promised.
 */
export async function readBody(
  collectBody: CollectBody | undefined,
  headers: ReadHeaders,
  { bytes: limit, ms }: { readonly bytes: number; readonly ms: number },
): Promise<Uint8Array> {
  const declared = Number(headers.get("content-length") ?? 0);
  if (declared > limit) throw tooLarge(limit);
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (collectBody === undefined) return new Uint8Array();
  if (encoding !== "identity" && encoding !== "gzip") {
    const message = "this Content-Encoding is not taken; send gzip or none";
    throw new Refusal("INVALID_ARGUMENT", message, { status: 415, headers: { "accept-encoding": "gzip, identity" } });
  }
  const body = await inTime(ms, collectBody(limit)).catch((error: unknown) => {
    if (error instanceof Refusal) throw error;
    throw error instanceof DOMException && error.name === "TimeoutError" ? tooSlow(ms) : cutOff();
  });
  return encoding === "gzip" ? inflate(body, limit) : body;
}

export async function collect(source: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** Counts what comes out: a few kilobytes may claim to be gigabytes. */
async function inflate(packed: Buffer, limit: number): Promise<Buffer> {
  const gunzip = createGunzip();
  gunzip.end(packed);
  try {
    return await collect(gunzip as Readable & AsyncIterable<Uint8Array>, limit);
  } catch (error) {
    gunzip.destroy();
    if (error instanceof Refusal) throw error;
    throw new Refusal("INVALID_ARGUMENT", "the body is no whole gzip");
  }
}

const tooSlow = (ms: number): Refusal =>
  new Refusal("TIMEOUT", `the body did not arrive within ${ms} ms`, { status: 408, headers: { connection: "close" } });

/** Whatever else goes wrong while a body is read: the client went away, or sends what is no body. */
const cutOff = (): Refusal =>
  new Refusal("INVALID_ARGUMENT", "the request ended before its body was whole", { headers: { connection: "close" } });

export const tooLarge = (limit: number): Refusal =>
  new Refusal("TOO_LARGE", `the body is larger than ${limit} bytes`, { headers: { connection: "close" } });
