import { dirname } from "node:path";
import { isExpected, placeOfTail, replacedNothing } from "../../checkpoint/log/driver-rules.ts";
import type { AppendOutcome, KnownPlace, LogEntry } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { isGone } from "./classify.ts";
import { syncDirectory } from "./durable-names.ts";
import { createAt } from "./durable-write.ts";
import { finishEdits } from "./edits.ts";
import { type LogPlace, recordPath } from "./layout.ts";
import { foldedTo } from "./listing.ts";
import { renderRecord, type StoredRecord } from "./record-file.ts";
import type { RootDirectory } from "./root.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";
import { takeStaging } from "./staging.ts";
import { readEntries } from "./stored-record.ts";
import { findLog } from "./thread-directory.ts";
import { AGAIN } from "./undisturbed.ts";

/**
 * What a writer knows: after it took `staging`, the tail was `tail`, without
 * unfinished edits. As long as that staging directory exists, a link from it to
 * `tail + 1` succeeds only if there never was such a record.
 */
export interface Footing {
  readonly place: LogPlace;
  readonly tail: KnownPlace;
  /** The file of the tail: the number of the first record in it. A tail that is folded already has none. */
  readonly file: number | undefined;
  /** How far the history was folded at that time. */
  readonly foldedTo: number;
  /** Absolute. */
  readonly staging: string;
}

/** What a writer takes for the tail. */
export interface Expected {
  readonly expected: KnownPlace;
  /** Records that it expects to exist. */
  readonly replace?: readonly LogEntry[];
}

export type Refusal = AppendOutcome & { readonly appended: false };

export const NO_THREAD: Refusal = { appended: false, tail: undefined, generation: undefined, occupant: undefined };

/** Takes a footing at the expected tail, or says why that is impossible. The order of the steps matters. */
export async function findFooting(
  root: RootDirectory,
  threadDirectory: string,
  request: Expected,
): Promise<Footing | Refusal | typeof AGAIN> {
  const place = await findLog(root, threadDirectory);
  if (place === undefined) return NO_THREAD;
  const staging = await takeStaging(place);
  const snapshot = await takeSnapshot(root, place);
  const { tail } = snapshot;
  if (tail.removed) return NO_THREAD;
  if (snapshot.pending !== undefined) {
    await finishEdits(root, place);
    return AGAIN;
  }
  if (!isExpected(tail, request.expected)) return refusal(snapshot, request);
  const { replace = [] } = request;
  const replaced = await inParallel(replace, ({ seq }) => snapshot.entry(seq));
  if (replaced.includes(undefined)) throw replacedNothing();
  await syncAbove(place);
  const folded = foldedTo(snapshot.listing);
  const file = tail.entry.seq > folded ? snapshot.files.at(-1) : undefined;
  return { place, tail: placeOfTail(tail), file, foldedTo: folded, staging };
}

/**
 * Whether the tail is what it was. The staging directory does not tell that of a
 * folder that was put back to an older copy: the copy may hold it too.
 */
export async function stillHolds({ place, tail, file }: Footing): Promise<boolean> {
  if (file === undefined) return false;
  try {
    const entries = await readEntries(place, file);
    return entries.some(({ seq, writeId }) => seq === tail.seq && writeId === tail.writeId);
  } catch (error) {
    // Reading the log says what is the matter.
    if (isGone(error) || StateError.is(error)) return false;
    throw error;
  }
}

/** Adds a record, and those appended with it, after the tail. False if another writer was faster. The caller must sync. */
export function commit(
  { place, tail, staging }: Footing,
  stored: Omit<StoredRecord, "generation" | "log">,
): Promise<boolean> {
  const bytes = renderRecord({ ...stored, generation: tail.generation, log: place.log });
  return createAt(recordPath(place, stored.record.seq), bytes, staging);
}

/** The caller's answer when it may not append. */
export async function refusal(snapshot: Snapshot, { expected }: Expected): Promise<Refusal> {
  const { place, tail } = snapshot;
  const occupant = tail.generation === expected.generation ? await snapshot.entry(expected.seq + 1) : undefined;
  // The caller may find its own earlier attempt here and report it as saved, so it must be on the disk.
  if (occupant !== undefined) await syncDirectory(place.path);
  if (occupant !== undefined) await syncAbove(place);
  return { appended: false, tail: tail.entry, generation: tail.generation, occupant };
}

/** The process that created the thread may have died before it synced the directories above. Costs little if they are synced. */
async function syncAbove(place: LogPlace): Promise<void> {
  const threadDirectory = dirname(place.path);
  await syncDirectory(threadDirectory);
  await syncDirectory(dirname(threadDirectory));
}
