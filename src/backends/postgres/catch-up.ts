import type { LogRecord } from "../../checkpoint/thread-log.ts";
import type { TextRow } from "./connect.ts";
import { toRecord } from "./rows.ts";
import type { RunStatement } from "./statements.ts";
import { storedWords } from "./words.ts";

const RECORDS_PER_INDEXING = 256;

/**
 * Indexes what was saved since the last time. Nobody is kept waiting: the words
 * are found without a lock, and thrown away where another process was faster or
 * the records were edited in the meantime.
 */
export async function catchUp(run: RunStatement, wordsOf: (record: LogRecord) => string | undefined): Promise<void> {
  for (;;) {
    const stale = await run("stale");
    if (stale.length === 0) return;
    for (const thread of stale) await indexSome(run, thread, wordsOf);
  }
}

async function indexSome(
  run: RunStatement,
  thread: TextRow,
  wordsOf: (record: LogRecord) => string | undefined,
): Promise<void> {
  const { thread_id: threadId, generation, indexed, edits, tail } = thread;
  const rows = await run("unindexed", threadId, indexed, tail, RECORDS_PER_INDEXING);
  const found = rows.map(toRecord).flatMap((record) => {
    const words = storedWords(wordsOf(record));
    return words === null ? [] : [[record.seq, words] as const];
  });
  const reached = rows.length < RECORDS_PER_INDEXING ? tail : rows.at(-1)?.["seq"];
  const [seqs, words] = [found.map(([seq]) => seq), found.map(([, text]) => text)];
  await run("index", threadId, generation, indexed, edits, reached, seqs, words);
}
