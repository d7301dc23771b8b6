import { randomUUID } from "node:crypto";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { openFile } from "../../src/backends/sqlite/open-file.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { COPIED_THREADS, metadataOf, OWN_THREADS, originalOf, statesOf, threadId } from "./sample-threads.ts";

const AT_ONCE = 64;

/** The first threads are saved, and every further one is a copy that the driver makes of one of them. Nobody waits for the disk. */
export async function fillSqlite(path: string, threads: number): Promise<void> {
  const { database } = await openFile(path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = OFF");
  const checkpointer = sqliteCheckpointer({ database, cacheBytes: 0 });
  const copy = async (index: number): Promise<unknown> =>
    contextOf(checkpointer)?.log.copy?.(threadId(originalOf(index)), threadId(index), randomUUID());
  const save = async (index: number): Promise<void> => {
    const metadata = metadataOf(index);
    for (const state of statesOf(index)) await checkpointer.save(state, threadId(index), { metadata });
  };
  for (let first = 0; first < threads; ) {
    const isSaved = first < OWN_THREADS + COPIED_THREADS;
    const end = Math.min(first + AT_ONCE, threads, isSaved ? OWN_THREADS + COPIED_THREADS : threads);
    const some = Array.from({ length: end - first }, (_, at) => first + at);
    await Promise.all(some.map(isSaved ? save : copy));
    if (Math.floor(first / 10_000) < Math.floor(end / 10_000)) console.log(`  sqlite: ${end} of ${threads} threads`);
    first = end;
  }
  await checkpointer.search("catch up with all");
  await checkpointer.close();
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}
