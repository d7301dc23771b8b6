import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { openFile } from "../../src/backends/sqlite/open-file.ts";
import { metadataOf, statesOf, threadId } from "./sample-threads.ts";

const AT_ONCE = 64;

/** Every save is made as it always is, except that nobody waits for the disk. */
export async function fillSqlite(path: string, threads: number): Promise<void> {
  const { database } = await openFile(path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = OFF");
  const checkpointer = sqliteCheckpointer({ database, cacheBytes: 0 });
  for (let first = 0; first < threads; first += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, threads - first) }, (_, at) => first + at);
    await Promise.all(
      some.map(async (index) => {
        const metadata = metadataOf(index);
        for (const state of statesOf(index)) await checkpointer.save(state, threadId(index), { metadata });
      }),
    );
    if (first % (AT_ONCE * 400) === 0) console.log(`  sqlite: ${first} of ${threads} threads`);
  }
  await checkpointer.search("catch up with all");
  await checkpointer.close();
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}
