import type { LogRecord } from "../checkpoint/log/thread-log.ts";

/** The beginning of a sealed body: what it is told by, and the words that lie in plain beside it. */

/** "HFS1" */
export const MAGIC = 0x48465331;
export const MAGIC_BYTES = 4;
export const WORDS_BEGIN: number = MAGIC_BYTES + 4;

/** The words that lie in plain beside a sealed body, for an index that is brought up to date later. */
export function wordsBeside({ body }: LogRecord): string | undefined {
  const stored = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return isSealed(stored) ? wordsBytes(stored)?.toString("utf8") || undefined : undefined;
}

export const isSealed = (stored: Buffer): boolean =>
  stored.byteLength >= MAGIC_BYTES && stored.readUInt32BE() === MAGIC;

export function wordsBytes(stored: Buffer): Buffer | undefined {
  if (stored.byteLength < WORDS_BEGIN) return undefined;
  const end = WORDS_BEGIN + stored.readUInt32BE(MAGIC_BYTES);
  return stored.byteLength < end ? undefined : stored.subarray(WORDS_BEGIN, end);
}
