import { stat } from "node:fs/promises";
import { StateError } from "../../errors.ts";
import { removeFiles, syncDirectory } from "./durable-names.ts";
import { createAt } from "./durable-write.ts";
import { type LogPlace, type Range, segmentPath } from "./layout.ts";
import { foldedTo, listLog } from "./listing.ts";
import { type LooseFile, looseFiles, looseLines } from "./loose-lines.ts";
import { recordsOf } from "./record-file.ts";
import type { RootDirectory } from "./root.ts";
import { Segment } from "./segment.ts";
import { type RawLines, segmentText } from "./segment-file.ts";
import { type Snapshot, takeSnapshot, within } from "./snapshot.ts";
import { renewStaging, takeStaging } from "./staging.ts";
import { readRecord } from "./stored-record.ts";

/** A history of up to this size is always one file. Larger ones are a few files, each much smaller than the one before. */
const SMALL_BYTES = 256 * 1024;
/**
 * A segment is joined with the later ones if it is smaller than this many times
 * their size: each byte is copied only a few times.
 */
const JOINED_WHEN_TIMES = 2;

/**
 * Folds the newest records of a log into its history. The content stays the same.
 * May be interrupted anywhere, and run by several processes at once.
 */
export async function fold(root: RootDirectory, place: LogPlace): Promise<void> {
  const staging = await takeStaging(place);
  const snapshot = await takeSnapshot(root, place);
  if (snapshot.tail.removed || snapshot.pending !== undefined) return;
  const newest = await looseFiles(place, snapshot.files);
  const newestBytes = newest.reduce((sum, { size }) => sum + size, 0);
  const joined = await segmentsToJoin(place, snapshot.listing.segments, newestBytes);
  // Reading one of several records that share a file reads the whole file. In a segment, it can be read alone.
  const isShared = snapshot.tail.entry.seq > (newest.at(-1)?.seq ?? snapshot.tail.entry.seq);
  const isWorthIt = newest.length + joined.length > 1 || isShared;
  if (isWorthIt) {
    await publish(root, snapshot, { joined, newest, staging }).catch(async (error: unknown) => {
      // A damaged segment is left alone, and must not keep the newest records from being folded.
      if (!StateError.is(error) || joined.length === 0) throw error;
      await publish(root, snapshot, { joined: [], newest, staging });
    });
  }
  if (isWorthIt || snapshot.listing.covered.length > 0) await removeCovered(root, place);
}

/** The last segments that are not large compared with what follows them. */
async function segmentsToJoin(
  place: LogPlace,
  segments: readonly Range[],
  newestBytes: number,
): Promise<readonly Range[]> {
  const joined: Range[] = [];
  let behind = newestBytes;
  for (const range of segments.toReversed()) {
    const { size } = await stat(segmentPath(place, range));
    if (size > JOINED_WHEN_TIMES * behind && size + behind > SMALL_BYTES) break;
    joined.unshift(range);
    behind += size;
  }
  return joined;
}

async function publish(
  root: RootDirectory,
  { place, tail, listing }: Snapshot,
  parts: { readonly joined: readonly Range[]; readonly newest: readonly LooseFile[]; readonly staging: string },
): Promise<void> {
  const { joined, newest, staging } = parts;
  const { threadId, generation, log, entry } = tail;
  const range = { from: joined[0]?.from ?? foldedTo(listing) + 1, to: entry.seq };
  const lines = async function* (): AsyncGenerator<RawLines, void, undefined> {
    for (const [index, one] of joined.entries()) {
      const part = within(one, one, joined[index - 1]);
      const segment = await Segment.open(place, one, { owner: tail, indexes: root.indexes });
      try {
        if (part !== undefined) yield* segment.lines(segment.rows(part));
      } finally {
        await segment.close();
      }
    }
    yield* looseLines(newest, async (file) => recordsOf(await readRecord(place, file, tail)));
  };
  // If another process was faster, the same segment is there already.
  await createAt(segmentPath(place, range), segmentText({ threadId, generation, log, ...range }, lines()), staging);
}

/** Removes files inside the range of a segment. `layout.ts` explains the order of the steps. */
async function removeCovered(root: RootDirectory, place: LogPlace): Promise<void> {
  const { covered } = await listLog(place.path);
  await syncDirectory(place.path);
  await renewStaging(root, place);
  await removeFiles(place.path, covered);
}
