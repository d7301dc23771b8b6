import { createHash, hash } from "node:crypto";
import type { LogEntry } from "./thread-log.ts";

/** 96 bits in base64url: against damage and mistakes, not against somebody who can compute it too. */
export const SUM_LENGTH = 16;

/** Text and body are put together here, because one call for a hash costs far less than an object that collects. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
/** No character of UTF-16 becomes more bytes than this. */
const BYTES_PER_UNIT = 3;

/** The checksum of a record: of its body and of all that its entry says; `header` is the one without a sum. */
export function checksumOf(entry: Omit<LogEntry, "header">, header: string, body: Uint8Array): string {
  const { seq, base, head, writeId, checkpointId = null, metadata = null, names } = entry;
  const fields = [seq, base, head, writeId, checkpointId, metadata, header];
  const text = JSON.stringify(names === undefined ? fields : [...fields, names]);
  if (text.length * BYTES_PER_UNIT + body.byteLength > scratch.byteLength) {
    return createHash("sha256").update(text).update(body).digest("base64url").slice(0, SUM_LENGTH);
  }
  const length = scratch.write(text, "utf8");
  scratch.set(body, length);
  return hash("sha256", scratch.subarray(0, length + body.byteLength), "base64url").slice(0, SUM_LENGTH);
}
