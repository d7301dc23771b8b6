import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { type Binds, number, OUT_NUMBER, text } from "./binds.ts";
import { isOra } from "./classify.ts";
import { type Row, text as textIn, toRecord } from "./rows.ts";
import type { Reading } from "./statements.ts";
import { storedTokens } from "./text-words.ts";
import type { WordsStatements } from "./words-statements.ts";

export type WordsOf = (record: LogRecord) => string | undefined;

/** What indexing needs of the log. */
export interface Indexing {
  readonly sql: WordsStatements;
  ask(statement: string, binds: Binds, commit?: boolean): Promise<{ rows: readonly Row[]; out: Row }>;
  /** All columns, with the long values. */
  read(reading: Reading, binds: Binds): Promise<readonly Row[]>;
  readonly signal: AbortSignal | undefined;
}

const THREADS_PER_PAGE = 10_000;
const RECORDS_PER_BATCH = 16;
const BYTES_PER_BATCH = 16 * 1024 * 1024;
/** Each time another process has indexed or edited the thread first, so this many attempts are more than enough. */
const MOST_OVERTAKINGS = 100;
/** Sorts before every id: ids hold no control characters. */
const FIRST = "\u0001";
const LOCKED = [54, 30006];

/**
 * Indexes what was saved before the call, not what is saved during it: the threads
 * are listed first, each with its tail. So it ends, whatever the writers do. (With
 * more than one page of threads the last thread is fixed first, and the tails of a
 * page when the page is reached.) Each finished batch is kept.
 */
export async function catchUp(indexing: Indexing, wordsOf: WordsOf): Promise<void> {
  let page = await stalePage(indexing, FIRST, undefined);
  const last = page.length < THREADS_PER_PAGE ? undefined : await lastStale(indexing);
  for (;;) {
    for (const thread of page) {
      if (indexing.signal?.aborted === true) return;
      await indexThread(indexing, thread, wordsOf);
    }
    if (page.length < THREADS_PER_PAGE) return;
    page = await stalePage(indexing, threadIn(page.at(-1)), last);
  }
}

async function stalePage({ sql, ask }: Indexing, after: string, last: string | undefined): Promise<readonly Row[]> {
  const binds = { b_after: text(after), b_last: text(last), b_most: number(THREADS_PER_PAGE) };
  return (await ask(sql.stale, binds)).rows;
}

const lastStale = async ({ sql, ask }: Indexing): Promise<string> => threadIn((await ask(sql.lastStale, {})).rows[0]);

const threadIn = (row: Row | undefined): string => textIn(row ?? {}, "THREAD_ID") ?? "";

/** A thread whose row stays locked is skipped until the next search. It must not hold up the others. */
async function indexThread(indexing: Indexing, thread: Row, wordsOf: WordsOf): Promise<void> {
  try {
    await indexUpTo(indexing, thread, wordsOf);
  } catch (error) {
    if (!isOra(error, ...LOCKED)) throw error;
  }
}

async function indexUpTo(indexing: Indexing, thread: Row, wordsOf: WordsOf): Promise<void> {
  const place = { b_thread: text(textIn(thread, "THREAD_ID")), b_generation: text(textIn(thread, "GENERATION")) };
  const tail = Number(thread["TAIL"]);
  let [indexed, edits] = [Number(thread["WORDS_TO"]), Number(thread["EDITS"])];
  for (let overtakings = 0; indexed < tail && overtakings < MOST_OVERTAKINGS; ) {
    if (indexing.signal?.aborted === true) return;
    const reached = await indexBatch(indexing, place, { indexed, edits, tail }, wordsOf);
    if (reached !== undefined) {
      indexed = reached;
      continue;
    }
    overtakings++;
    const { rows } = await indexing.ask(indexing.sql.progress, place);
    const [now] = rows;
    if (now === undefined) return;
    [indexed, edits] = [Number(now["WORDS_TO"]), Number(now["EDITS"])];
  }
}

/** The position up to which the thread is now indexed; `undefined` if another process was faster. Holds no lock while it finds the words. */
async function indexBatch(
  { sql, ask, read }: Indexing,
  place: { readonly b_thread: Binds[string]; readonly b_generation: Binds[string] },
  { indexed, edits, tail }: { readonly indexed: number; readonly edits: number; readonly tail: number },
  wordsOf: WordsOf,
): Promise<number | undefined> {
  const rows = await read(sql.unindexed, {
    b_thread: place.b_thread,
    b_from: number(indexed),
    b_to: number(tail),
    b_most: number(RECORDS_PER_BATCH),
    b_bytes: number(BYTES_PER_BATCH),
  });
  const found = rows.flatMap((row) => {
    const tokens = tokensIn(toRecord(row), wordsOf);
    return tokens === undefined ? [] : [{ seq: Number(row["SEQ"]), ...tokens }];
  });
  const isLast = rows.length < RECORDS_PER_BATCH && rows.every((row) => Number(row["BATCH_SIZE"]) === rows.length);
  const reached = isLast ? tail : Number(rows.at(-1)?.["SEQ"]);
  const words = found.map(
    ({ seq, text: tokens, count }, at): Binds => ({
      [`b_seq_${at + 1}`]: number(seq),
      [`b_word_count_${at + 1}`]: number(count),
      [`b_words_${at + 1}`]: text(tokens),
    }),
  );
  const range = { b_from: number(indexed), b_to: number(reached), b_edits: number(edits) };
  const binds = Object.assign({ ...place, ...range, b_indexed: OUT_NUMBER }, ...words) as Binds;
  const { out } = await ask(sql.index(found.length), binds, true);
  return out["b_indexed"] === 1 ? reached : undefined;
}

/** A record that cannot be read (damaged, or of a newer version) must not keep the others from being found. */
function tokensIn(record: LogRecord, wordsOf: WordsOf): ReturnType<typeof storedTokens> {
  try {
    return storedTokens(wordsOf(record));
  } catch {
    return undefined;
  }
}
