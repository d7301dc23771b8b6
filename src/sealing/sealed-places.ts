import type { LogEntry } from "../checkpoint/thread-log.ts";
import { type ErrorContext, StateError } from "../errors.ts";
import { placeBytes } from "./box.ts";
import type { NamedKey } from "./keyring.ts";

/** Where a record belongs: what its boxes are bound to, and what is said of one that is not where it belongs. */

export interface SealedPlace {
  readonly tenant: string;
  readonly threadId: string;
}

export function headerPlace({ tenant, threadId }: SealedPlace, entry: LogEntry): Buffer {
  const { seq, base, head, writeId, checkpointId, names, metadata } = entry;
  return placeBytes(["header 1", tenant, threadId, seq, base, head, writeId, checkpointId, names, metadata]);
}

export const bodyPlace = (
  { tenant, threadId }: SealedPlace,
  generation: string,
  seq: number,
  header: string,
  words: Buffer,
): Buffer => placeBytes(["body 1", tenant, threadId, generation, seq, header, words.toString("base64")]);

export const partPlace = (at: Buffer, kind: string, ids: readonly string[]): Buffer =>
  Buffer.concat([placeBytes(["part 1", kind, ids]), at]);

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
    `${whereOf(place, entry)} is not sealed, and only sealed records are read here: somebody without the key wrote it, or it is from before the sealing. Threads in plain are moved by loading them without sealing and saving them into a sealed store`,
    contextOf(place, entry),
  );
