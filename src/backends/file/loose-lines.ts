import { stat } from "node:fs/promises";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { type LogPlace, recordPath } from "./layout.ts";
import { type RawLines, rawLines } from "./segment-file.ts";
import { renderLine } from "./segment-line.ts";

/** How many bytes are in memory at a time, unless one file alone is larger. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** A file of one record, or of several that were appended together, and its size. */
export interface LooseFile {
  readonly seq: number;
  readonly size: number;
}

export const looseFiles = (place: LogPlace, seqs: readonly number[]): Promise<readonly LooseFile[]> =>
  inParallel(seqs, async (seq) => ({ seq, size: (await stat(recordPath(place, seq))).size }));

/** The records of such files as lines of a segment, in batches. */
export async function* looseLines(
  files: readonly LooseFile[],
  read: (seq: number) => Promise<readonly LogRecord[]>,
): AsyncGenerator<RawLines, void, undefined> {
  for (const batch of batchesOf(files)) {
    yield rawLines((await inParallel(batch, read)).flat().map(renderLine));
  }
}

function batchesOf(files: readonly LooseFile[]): readonly (readonly number[])[] {
  const batches: number[][] = [];
  let room = 0;
  for (const { seq, size } of files) {
    room -= size;
    const last = batches.at(-1);
    if (last !== undefined && room >= 0) last.push(seq);
    else {
      batches.push([seq]);
      room = BATCH_BYTES - size;
    }
  }
  return batches;
}
