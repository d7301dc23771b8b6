import type { LogRecord } from "../log/thread-log.ts";
import type { Row, Values } from "./dialect.ts";
import type { ReadName } from "./reads.ts";
import { numberIn, textIn, threadIdIn, toRecord } from "./rows.ts";

export type WordsOf = (record: LogRecord) => string | undefined;

/** Words of records of one thread that are to be stored, if the thread is as it was when they were found. */
export interface IndexBatch {
  readonly threadId: string;
  readonly generation: string;
  /** The range of positions that is indexed with it. */
  readonly from: number;
  readonly to: number;
  /** How often the thread's records had been replaced or dropped. NaN where the database compares versions instead. */
  readonly edits: number;
  readonly found: readonly { readonly row: Row; readonly words: string }[];
}

export interface Indexing {
  read(name: ReadName, values: Values): Promise<readonly Row[]>;
  /** Whether they were stored; not if another process indexed or edited the thread first. Waits long for no lock. */
  index(batch: IndexBatch): Promise<boolean>;
  /** Whether another transaction kept the thread locked. */
  isLocked(error: unknown): boolean;
  readonly recordsPerBatch: number;
}

const THREADS_PER_PAGE = 10_000;
const BYTES_PER_BATCH = 16 * 1024 * 1024;
/** Each time another process has indexed or edited the thread first, so this many attempts are more than enough. */
const MOST_OVERTAKINGS = 100;
/** Before every id: ids hold no control characters. */
const FIRST = "\u0001";

/**
 * Indexes what was saved before the call, not what is saved during it: the threads
 * are listed first, each with its tail. So it ends, whatever the writers do. (With
 * more than one page of threads the last thread is fixed first, and the tails of a
 * page when the page is reached.) Each finished batch is kept.
 */
export async function catchUp(indexing: Indexing, wordsOf: WordsOf, signal: AbortSignal | undefined): Promise<void> {
  let page = await indexing.read("stale", { after: FIRST, most: THREADS_PER_PAGE });
  if (page.length === 0) return;
  const isAll = page.length < THREADS_PER_PAGE;
  const last = isAll ? "" : threadIdIn((await indexing.read("lastStale", { after: FIRST }))[0]);
  for (;;) {
    for (const thread of page) {
      if (signal?.aborted === true) return;
      await indexThread(indexing, thread, wordsOf, signal);
    }
    if (page.length < THREADS_PER_PAGE) return;
    page = await indexing.read("staleTo", { after: threadIdIn(page.at(-1)), last, most: THREADS_PER_PAGE });
  }
}

/** A thread whose row stays locked is skipped until the next search. It must not hold up the others. */
async function indexThread(
  indexing: Indexing,
  thread: Row,
  wordsOf: WordsOf,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [threadId, generation] = [threadIdIn(thread), textIn(thread, "generation") ?? ""];
  const tail = numberIn(thread, "tail");
  let now = thread;
  try {
    for (let overtakings = 0; overtakings < MOST_OVERTAKINGS; ) {
      if (signal?.aborted === true) return;
      const batch = await nextBatch(indexing, { threadId, generation, now, tail }, wordsOf);
      if (await indexing.index(batch)) {
        if (batch.to >= tail) return;
        now = { ...now, indexed: batch.to };
        continue;
      }
      overtakings++;
      const [progress] = await indexing.read("progress", { thread: threadId, generation });
      if (progress === undefined || numberIn(progress, "indexed") >= tail) return;
      now = progress;
    }
  } catch (error) {
    if (!indexing.isLocked(error)) throw error;
  }
}

interface ThreadToIndex {
  readonly threadId: string;
  readonly generation: string;
  readonly now: Row;
  readonly tail: number;
}

/** Holds no lock while it finds the words. */
async function nextBatch(
  indexing: Indexing,
  { threadId, generation, now, tail }: ThreadToIndex,
  wordsOf: WordsOf,
): Promise<IndexBatch> {
  const from = numberIn(now, "indexed");
  const { recordsPerBatch } = indexing;
  const rows = await indexing.read("unindexed", {
    ...{ thread: threadId, from_seq: from, to_seq: tail },
    ...{ most: recordsPerBatch, bytes: BYTES_PER_BATCH },
  });
  const found = rows.flatMap((row) => {
    const words = wordsIn(row, wordsOf);
    return words === undefined ? [] : [{ row, words }];
  });
  const isLast = rows.length < recordsPerBatch && rows.every((row) => numberIn(row, "found") === rows.length);
  const to = isLast ? tail : numberIn(rows.at(-1), "seq");
  return { threadId, generation, from, to, edits: numberIn(now, "edits"), found };
}

/** A record that cannot be read (damaged, or of a newer version) must not keep the others from being found. */
function wordsIn(row: Row, wordsOf: WordsOf): string | undefined {
  try {
    return wordsOf(toRecord(row));
  } catch {
    return undefined;
  }
}
