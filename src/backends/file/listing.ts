import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { StateError } from "../../errors.ts";
import { isGone } from "./classify.ts";
import { brokenLog } from "./damage.ts";
import {
  isEditionName,
  isStagingName,
  type LogPlace,
  locationOf,
  positionOfFile,
  type Range,
  rangeOfFile,
  recordFileName,
  segmentFileName,
} from "./layout.ts";

/** What the file names in a log say. */
export interface Listing {
  /** Ascending; each reaches beyond the one before. Two may overlap if two processes folded at once. */
  readonly segments: readonly Range[];
  /** Positions of record files that no segment covers, ascending. */
  readonly loose: readonly number[];
  /** Names of files inside the range of a segment: they are ignored. */
  readonly covered: readonly string[];
  readonly stagings: readonly string[];
  readonly editions: readonly string[];
}

export async function listLog(path: string): Promise<Listing> {
  const names = await readdir(path);
  const ranges = names.map(rangeOfFile).filter((range) => range !== undefined);
  const seqs = names.map(positionOfFile).filter((seq) => seq !== undefined);
  const segments = outermost(ranges);
  const isCovered = (range: Range): boolean => segments.some((other) => isWithin(range, other));
  const loose = seqs.filter((seq) => !isCovered({ from: seq, to: seq }));
  return {
    segments,
    loose: loose.sort((a, b) => a - b),
    covered: [
      ...seqs.filter((seq) => isCovered({ from: seq, to: seq })).map(recordFileName),
      ...ranges.filter((range) => !segments.includes(range)).map(segmentFileName),
    ],
    stagings: names.filter(isStagingName).sort(),
    editions: names.filter(isEditionName).sort(),
  };
}

function outermost(ranges: readonly Range[]): readonly Range[] {
  const kept: Range[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from || b.to - a.to)) {
    if (range.to > (kept.at(-1)?.to ?? 0)) kept.push(range);
  }
  return kept;
}

const isWithin = (inner: Range, outer: Range): boolean => inner.from >= outer.from && inner.to <= outer.to;

/** The newest position that a listing shows; 0 if it shows no record. */
export const newestIn = ({ segments, loose }: Listing): number => Math.max(loose.at(-1) ?? 0, foldedTo({ segments }));

/** How far the history is folded. */
export const foldedTo = ({ segments }: Pick<Listing, "segments">): number => segments.at(-1)?.to ?? 0;

const MOST_LOOKS = 100;

/** A listing that shows every record up to its newest. The end of `layout.ts` explains why one look is not enough. */
export async function completeListing(place: LogPlace): Promise<Listing> {
  let before = await listLog(place.path);
  for (let looks = 1; looks < MOST_LOOKS && hasGap(before); looks++) {
    const after = await listLog(place.path);
    if (await nothingRemoved(place, before, after)) return upTo(newestIn(before), assertWhole(place, after));
    before = after;
  }
  if (!hasGap(before)) return before;
  throw new StateError("UNAVAILABLE", `${locationOf(place)} did not hold still in ${MOST_LOOKS} looks at it`);
}

/** Whether a position is missing: it was dropped, or the listing missed it. */
function hasGap({ segments, loose }: Listing): boolean {
  if (gapIn(segments) !== undefined) return true;
  const [first, last] = [foldedTo({ segments }) + 1, loose.at(-1)];
  return last !== undefined && last - first + 1 > loose.length;
}

/** Positions that must be in a segment but are in no segment's range. */
function gapIn(segments: readonly Range[]): Range | undefined {
  for (const [index, { from }] of segments.entries()) {
    const covered = segments[index - 1]?.to ?? 0;
    if (from > covered + 1) return { from: covered + 1, to: from - 1 };
  }
  return undefined;
}

async function nothingRemoved(place: LogPlace, before: Listing, after: Listing): Promise<boolean> {
  const [staging] = before.stagings;
  return staging === undefined ? after.stagings.length === 0 : isThere(join(place.path, staging));
}

function assertWhole(place: LogPlace, listing: Listing): Listing {
  const gap = gapIn(listing.segments);
  if (gap !== undefined) throw brokenLog(locationOf(place), `misses the records from ${gap.from} to ${gap.to}`);
  return listing;
}

/** Without records that were added after the first look: the record before each of them may be missing. */
function upTo(newest: number, listing: Listing): Listing {
  return { ...listing, loose: listing.loose.filter((seq) => seq <= newest) };
}

export async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}
