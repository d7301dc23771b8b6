import { classify } from "./classify.ts";
import type { Connection } from "./connection.ts";
import type { Statements } from "./statements.ts";
import { cannotIndex, indexBatch, type StaleThread, type WordsOf } from "./words-index.ts";

/** How many stale threads are looked up at a time. */
const THREADS_PER_STEP = 500;

/**
 * Visits each existing thread once, up to its tail at that moment, in short
 * transactions of many threads. Neither a writer that never stops nor a damaged
 * thread keeps it from ending. Where the file itself is damaged, the rest is indexed
 * first, and then the damage is reported.
 */
export async function catchUp(
  connection: Connection<Statements>,
  wordsOf: WordsOf,
  signal?: AbortSignal,
): Promise<void> {
  const { thread_no: last } = await connection.read(
    ({ lastThread }) => lastThread.get() as { thread_no: number | null },
  );
  const index = (threads: readonly StaleThread[]): Promise<number> =>
    connection.write((statements) => indexBatch(statements, threads, wordsOf));
  const damage: unknown[] = [];
  for (let after = 0; after < (last ?? 0) && !signal?.aborted; ) {
    const from = after;
    const found = await connection.read(({ toIndex }) => toIndex.all(from, last, THREADS_PER_STEP) as StaleThread[]);
    if (found.length > 0 && (await connection.isReadOnly())) throw cannotIndex();
    await indexAll(found, index, damage, signal);
    after = found.length < THREADS_PER_STEP ? (last ?? 0) : (found.at(-1)?.thread_no ?? 0);
  }
  if (damage.length > 0) throw damage[0];
}

/** A transaction that fails because of damage is made again for each thread alone, so that only those are left out that it concerns. */
async function indexAll(
  threads: readonly StaleThread[],
  index: (threads: readonly StaleThread[]) => Promise<number>,
  damage: unknown[],
  signal?: AbortSignal,
): Promise<void> {
  for (let from = 0, most = threads.length; from < threads.length && !signal?.aborted; ) {
    try {
      from += await index(threads.slice(from, from + most));
    } catch (error) {
      if (classify(error) !== "CORRUPT") throw error;
      damage.push(error);
      if (most === 1) from++;
      most = 1;
    }
  }
}
