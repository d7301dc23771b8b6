import { createHash, hash } from "node:crypto";
import type { LogEntry } from "./thread-log.ts";

/** 96 bits in base64url: against damage and mistakes, not against somebody who can compute it too. */
export const SUM_LENGTH = 16;

/** Text and body are put together here, because one call for a hash costs far less than an object that collects. */
const SCRATCH_BYTES = 64 * 1024;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
/** No character of UTF-16 becomes more bytes than this. */
const BYTES_PER_UNIT = 3;

/** The checksum of a record: of its body and of all that its entry says; `header` is its text up to the sum. */
export function checksumOf(entry: Omit<LogEntry, "header">, header: string, body: Uint8Array): string {
  const text = coveredText(entry, header);
  if (text.length * BYTES_PER_UNIT + body.length > SCRATCH_BYTES) {
    return createHash("sha256").update(text).update(body).digest("base64url").slice(0, SUM_LENGTH);
  }
  const length = scratch.write(text, "utf8");
  scratch.set(body, length);
  return hash("sha256", scratch.subarray(0, length + body.length), "base64url").slice(0, SUM_LENGTH);
}

/**
 * Numbers and lengths, then the texts themselves: no two entries have the same.
 * Joined and not escaped, because every record of every load and save passes here.
 */
function coveredText({ seq, base, head, writeId, checkpointId, metadata, names }: LogText, header: string): string {
  const others = names === undefined ? "" : JSON.stringify(names);
  const lengths = `${writeId.length} ${lengthOf(checkpointId)} ${lengthOf(metadata)} ${others.length} ${header.length}`;
  return `${seq} ${base} ${head} ${lengths} ${writeId}${checkpointId ?? ""}${metadata ?? ""}${others}${header}`;
}

type LogText = Omit<LogEntry, "header">;

/** An empty text is not the same as a missing one. */
const lengthOf = (text: string | undefined): string => (text === undefined ? "-" : String(text.length));
