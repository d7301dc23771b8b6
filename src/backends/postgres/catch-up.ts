import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import type { TextRow } from "./ask.ts";
import { indexingValues } from "./calls.ts";
import { sqlState } from "./classify.ts";
import { toRecord } from "./rows.ts";
import { PER_CATCH_UP, sortNowAndThen } from "./sorting-words.ts";
import type { RunStatement } from "./statements.ts";
import { storedWords } from "./words.ts";

type WordsOf = (record: LogRecord) => string | undefined;

const THREADS_PER_PAGE = 10_000;
const RECORDS_PER_BATCH = 256;
const BYTES_PER_BATCH = 16 * 1024 * 1024;
/** Each time another process has indexed part of the thread first, so this many attempts are more than enough. */
const MOST_OVERTAKINGS = 100;
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Indexes what was saved before the call, not what is saved during it: the threads
 * are listed first, each with its tail. So it ends, whatever the writers do. (With
 * more than one page of threads the last thread is fixed first, and the tails of a
 * page when the page is reached.) Each finished batch is kept.
 */
export async function catchUp(run: RunStatement, wordsOf: WordsOf): Promise<void> {
  let page = await run("stale", "", null, THREADS_PER_PAGE);
  const last = page.length < THREADS_PER_PAGE ? null : (await run("lastStale"))[0]?.["last"];
  for (;;) {
    for (const thread of page) await indexThread(run, thread, wordsOf);
    if (page.length < THREADS_PER_PAGE) return;
    page = await run("stale", page.at(-1)?.["thread_id"], last, THREADS_PER_PAGE);
  }
}

/** A thread whose row stays locked is skipped until the next search. It must not hold up the others. */
async function indexThread(run: RunStatement, thread: TextRow, wordsOf: WordsOf): Promise<void> {
  try {
    await indexUpTo(run, thread, Number(thread["tail"]), wordsOf);
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
  }
}

async function indexUpTo(run: RunStatement, thread: TextRow, tail: number, wordsOf: WordsOf): Promise<void> {
  const { thread_id: threadId, generation } = thread;
  let indexed = Number(thread["indexed"]);
  for (let overtakings = 0; overtakings < MOST_OVERTAKINGS; ) {
    const reached = await indexBatch(run, thread, indexed, tail, wordsOf);
    if (reached === undefined) {
      overtakings++;
      const [now] = await run("indexed", threadId, generation);
      if (now === undefined) return;
      indexed = Number(now["indexed"]);
    } else indexed = reached;
    if (indexed >= tail) return;
  }
}

/**
 * The position up to which the thread is now indexed; `undefined` if another process
 * was faster. Holds no lock while it finds the words.
 */
async function indexBatch(
  run: RunStatement,
  { thread_id: threadId, generation }: TextRow,
  indexed: number,
  tail: number,
  wordsOf: WordsOf,
): Promise<number | undefined> {
  const rows = await run("unindexed", threadId, indexed, tail, RECORDS_PER_BATCH, BYTES_PER_BATCH);
  const found = rows.flatMap((row) => {
    const words = wordsIn(toRecord(row), wordsOf);
    return words === null ? [] : [{ seq: row["seq"], version: row["version"], words }];
  });
  const reached = rows.at(-1)?.["is_last"] === "f" ? Number(rows.at(-1)?.["seq"]) : tail;
  const [row] = await run("index", ...indexingValues({ threadId, generation, indexed, reached, found }));
  const written = found.reduce((characters, { words }) => characters + words.length, 0);
  await sortNowAndThen(run, written, PER_CATCH_UP);
  return row?.["indexed"] === "t" ? reached : undefined;
}

/** A record that cannot be read (damaged, or of a newer version) must not keep the others from being found. */
function wordsIn(record: LogRecord, wordsOf: WordsOf): string | null {
  try {
    return storedWords(wordsOf(record));
  } catch {
    return null;
  }
}
