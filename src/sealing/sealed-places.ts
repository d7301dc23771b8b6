import type { LogEntry } from "../checkpoint/log/thread-log.ts";
import { type ErrorContext, StateError } from "../errors.ts";
import { HEAD_BYTES, type NamedKey } from "./keys/box.ts";

/** Where a record belongs: what its boxes are bound to, and the error for a box in another place. */

export interface SealedPlace {
  readonly tenant: string;
  readonly threadId: string;
}

/**
 * Numbers and lengths, then the texts themselves: no two places have the same.
 * Joined and not escaped, because every record that is sealed or opened passes here.
 */
export function headerPlace({ tenant, threadId }: SealedPlace, entry: LogEntry, metadata: string | undefined): string {
  const { seq, base, head, writeId, checkpointId, names } = entry;
  const others = names === undefined ? "" : JSON.stringify(names);
  const lengths = `${writeId.length} ${lengthOf(checkpointId)} ${lengthOf(metadata)} ${others.length}`;
  const place = `header 1 ${seq} ${base} ${head} ${tenant.length} ${threadId.length} ${lengths} ${tenant}${threadId}`;
  return `${place}${writeId}${checkpointId ?? ""}${metadata ?? ""}${others}`;
}

/** An empty text is not the same as a missing one. */
const lengthOf = (text: string | undefined): string => (text === undefined ? "-" : String(text.length));

const BODY = "body 1 ";
/** Filled anew for each body without words, because a cipher reads its place at once. */
const usualPlace = Buffer.from(BODY.padEnd(BODY.length + HEAD_BYTES), "latin1");

/**
 * A body belongs to the one header that has this box, and through it to that header's place; and to the words and
 * the boxes of people beside it, including those whose keys were destroyed. (The header says how long the boxes
 * are.)
 */
export function bodyPlace(headerBox: Buffer, words: Uint8Array, boxes: Uint8Array): Buffer {
  headerBox.copy(usualPlace, BODY.length, 0, HEAD_BYTES);
  const isUsual = words.byteLength === 0 && boxes.byteLength === 0;
  return isUsual ? usualPlace : Buffer.concat([usualPlace, words, boxes]);
}

/**
 * The place of a person's part: in a header its own place, behind a body the box of its header. Names of keys have no
 * spaces.
 */
export const partPlace = (kind: string, ids: readonly string[], at: string | Buffer): Buffer => {
  const begin = `part 1 ${kind} ${ids.length} ${ids.join(" ")} `;
  return typeof at === "string"
    ? Buffer.from(begin + at, "utf8")
    : Buffer.concat([Buffer.from(begin, "utf8"), at.subarray(0, HEAD_BYTES)]);
};

const whereOf = ({ threadId }: SealedPlace, { seq }: LogEntry): string =>
  `record ${seq} of thread ${JSON.stringify(threadId)}`;

const contextOf = ({ threadId }: SealedPlace, { seq, checkpointId }: LogEntry): ErrorContext => ({
  threadId,
  location: `record ${seq}`,
  ...(checkpointId !== undefined && { checkpointId }),
});

export const changed = (place: SealedPlace, entry: LogEntry): StateError =>
  new StateError(
    "CORRUPT",
    `${whereOf(place, entry)} does not open in its place: it was damaged, changed, or moved there from elsewhere`,
    contextOf(place, entry),
  );

export const otherKey = (place: SealedPlace, entry: LogEntry, id: string, key: NamedKey): StateError =>
  new StateError(
    "CORRUPT",
    `${whereOf(place, entry)} names the key ${id}, and its tenant's is ${key.id}: it was changed, moved there from elsewhere, or the store of the keys is not the one that belongs to this data`,
    contextOf(place, entry),
  );

export const notSealed = (place: SealedPlace, entry: LogEntry): StateError =>
  new StateError(
    "CORRUPT",
    `${whereOf(place, entry)} is not sealed, and only sealed records are read here: it was written by a program without the key, or before sealing was switched on. To move plain threads, load them without sealing and save them into a sealed store`,
    contextOf(place, entry),
  );

export const newerFormat = (place: SealedPlace, entry: LogEntry): StateError =>
  new StateError(
    "INCOMPATIBLE",
    `${whereOf(place, entry)} is sealed in a format of a newer version: read it with that one`,
    contextOf(place, entry),
  );

export const putBack = (place: SealedPlace, entry: LogEntry): StateError =>
  new StateError(
    "CORRUPT",
    `${whereOf(place, entry)} was removed from the thread, and lies there again: it was put back from an earlier copy. Take it out of the storage, or bring the whole thread back`,
    contextOf(place, entry),
  );
