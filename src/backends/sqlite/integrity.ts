import { crc32 } from "node:zlib";
import { StateError } from "../../errors.ts";

/**
 * SQLite keeps no checksums. A record's own checksum covers its body too, and
 * nothing else of ours verifies the row of a thread. So each row carries a checksum
 * of its small columns, which is verified on every read: a flipped bit is CORRUPT,
 * and never an older state, another thread's state, or "no thread".
 */

interface ThreadColumns {
  readonly thread_id: string;
  readonly thread_no: number;
  readonly generation: string;
  readonly tail: number;
  readonly tail_write_id: string;
  readonly head: number;
  readonly indexed: number;
}

/** Here and below: numbers and lengths, then the texts themselves, so that no two rows have the same text. Each save makes three. */
export function sumOfThread(row: ThreadColumns): number {
  const { thread_id, thread_no, generation, tail, tail_write_id, head, indexed } = row;
  const lengths = `${generation.length} ${tail_write_id.length}`;
  return crc32(`${thread_no} ${tail} ${head} ${indexed} ${lengths} ${generation}${tail_write_id}${thread_id}`);
}

interface EntryColumns {
  readonly base: number;
  readonly head: number;
  readonly write_id: string | null;
  readonly checkpoint_id: string | null;
  readonly names: string | null;
  readonly header: string;
  readonly metadata: string | null;
}

/** Covers the position and not the row's id, so that a copied row keeps its checksum. */
export function sumOfEntry(seq: number, row: EntryColumns): number {
  const { base, head, write_id, checkpoint_id, names, header, metadata } = row;
  const lengths = `${lengthOf(write_id)} ${lengthOf(checkpoint_id)} ${lengthOf(names)} ${lengthOf(metadata)}`;
  const texts = `${write_id ?? ""}${checkpoint_id ?? ""}${names ?? ""}${metadata ?? ""}${header}`;
  return crc32(`${seq} ${base} ${head} ${lengths} ${texts}`);
}

/** An empty text is not the same as a missing one. */
const lengthOf = (text: string | null): string => (text === null ? "-" : String(text.length));

export const sumOfWords = (words: string): number => crc32(words);

export const damagedThread = (threadId: string, fault: string): StateError =>
  new StateError("CORRUPT", `the row of the thread is damaged: ${fault}`, {
    threadId,
    location: `row of thread ${JSON.stringify(threadId)}`,
  });

export const damagedEntry = (seq: number): StateError =>
  new StateError("CORRUPT", `the row of record ${seq} does not match its checksum: it was damaged or changed by hand`, {
    location: `record ${seq}`,
  });

export const damagedIndex = (checkpointId: string, fault: string): StateError =>
  new StateError(
    "CORRUPT",
    `the index of checkpoint ids is damaged: for ${JSON.stringify(checkpointId)} it ${fault}. Nothing is lost; REINDEX in the sqlite3 shell makes the index anew`,
    { checkpointId, location: "index of checkpoint ids" },
  );
