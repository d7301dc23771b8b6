import { randomUUID } from "node:crypto";
import type { SqliteDatabase } from "../../src/backends/sqlite/connect.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { tableNames } from "../../src/backends/sqlite/layout.ts";
import { moveMembers } from "../../src/backends/sqlite/metadata.ts";
import { openFile } from "../../src/backends/sqlite/open-file.ts";
import { headMetadata, rangeOf } from "../../src/backends/sqlite/read-rows.ts";
import { type RecordRow, startOf, type ThreadRow, toRecord } from "../../src/backends/sqlite/rows.ts";
import { prepareStatements, type Statements } from "../../src/backends/sqlite/statements.ts";
import { addWords, markIndexed, wordsOfRecord } from "../../src/backends/sqlite/words-index.ts";
import { createThread } from "../../src/backends/sqlite/write-rows.ts";
import { COPIED_THREADS, metadataOf, OWN_THREADS, originalOf, statesOf, threadId } from "./sample-threads.ts";

const AT_ONCE = 64;
const THREADS_PER_TRANSACTION = 20_000;

/**
 * The first threads are saved. Every further one is a copy of one of them with its words, made by the driver's own
 * steps, but in long transactions and without waiting for the disk.
 */
export async function fillSqlite(path: string, threads: number): Promise<void> {
  const { database } = await openFile(path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = OFF");
  const checkpointer = sqliteCheckpointer({ database, cacheBytes: 0 });
  const saved = Math.min(threads, OWN_THREADS + COPIED_THREADS);
  for (let first = 0; first < saved; first += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, saved - first) }, (_, at) => first + at);
    await Promise.all(
      some.map(async (index) => {
        const metadata = metadataOf(index);
        for (const state of statesOf(index)) await checkpointer.save(state, threadId(index), { metadata });
      }),
    );
  }
  await checkpointer.search("catch up with all");
  multiply(database, saved, threads);
  await checkpointer.close();
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

function multiply(database: SqliteDatabase, saved: number, threads: number): void {
  const statements = prepareStatements(database, tableNames("holdfast_"));
  const originals = new Map<number, Original>();
  for (let first = saved; first < threads; first += THREADS_PER_TRANSACTION) {
    const end = Math.min(first + THREADS_PER_TRANSACTION, threads);
    database.exec("BEGIN IMMEDIATE");
    for (let index = first; index < end; index++) {
      const source = originalOf(index);
      const original = originals.get(source) ?? read(statements, threadId(source));
      originals.set(source, original);
      copy(statements, original, threadId(index));
    }
    database.exec("COMMIT");
    console.log(`  sqlite: ${end} of ${threads} threads`);
  }
}

interface Original {
  readonly thread: ThreadRow;
  readonly words: readonly { readonly id: number; readonly words: string }[];
}

function read(statements: Statements, id: string): Original {
  const thread = statements.thread.get(id) as ThreadRow;
  const records = statements.range.all(...rangeOf(thread.thread_no)) as RecordRow[];
  const words = records.flatMap((row) => {
    const found = wordsOfRecord(toRecord(row));
    return found === undefined ? [] : [{ id: row.id, words: found }];
  });
  return { thread, words };
}

function copy(statements: Statements, { thread, words }: Original, target: string): void {
  const { tail, tail_write_id, head, thread_no: from } = thread;
  const made = createThread(statements, target, { generation: randomUUID(), tail, tail_write_id, head });
  if (made === undefined) throw new Error(`${target} is there already`);
  const shift = startOf(made.thread_no) - startOf(from);
  statements.copy.run(startOf(from), startOf(made.thread_no), ...rangeOf(from));
  for (const record of words) addWords(statements, record.id + shift, record.words);
  markIndexed(statements, made, tail);
  moveMembers(statements, target, null, headMetadata(statements, made) ?? null);
}
