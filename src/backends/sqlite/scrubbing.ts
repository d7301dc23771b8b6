import type { ScrubReport } from "../../driver/driver.ts";
import { sleep } from "../../internal/time.ts";
import { isBusy } from "./classify.ts";
import type { SqliteDatabase } from "./connect.ts";
import type { Erasure } from "./erasure.ts";

/** SQLite blocks the process while it works. Rewriting a larger file is left to the operator. */
const LARGEST_REWRITTEN = 256 * 1024 * 1024;
/** What was written lies in the write-ahead log, and the pages of the file are as they were. */
const BEHIND_A_READER =
  "all of it in the file itself and in its write-ahead log: another connection reads, and until it is done SQLite overwrites neither. Erase again then";
const MOST_ATTEMPTS = 20;
const PAUSE_MS = 100;

/**
 * `secure_delete` overwrites deleted content in place. But rows move when their
 * neighbours change, and a copy that nothing points to stays at the old place. Only
 * rewriting the file removes those copies.
 */
export async function scrubFile(database: SqliteDatabase, erasure: Erasure | undefined): Promise<ScrubReport> {
  if (erasure === undefined) {
    return {
      done: [],
      remains: [
        "free space of the file, and its write-ahead log: secure_delete is off, or the connection is yours. Run VACUUM, then PRAGMA wal_checkpoint(TRUNCATE)",
      ],
    };
  }
  const rewritten = await rewriteFile(database);
  const isCut = await erasure.settle();
  return {
    done: ["what was deleted is overwritten", ...(rewritten === true ? ["the file was written anew"] : [])],
    remains: [...(rewritten === true ? [] : [rewritten]), ...(isCut ? [] : [BEHIND_A_READER])],
  };
}

/** True, or what is left to do. */
async function rewriteFile(database: SqliteDatabase): Promise<true | string> {
  const { bytes } = database
    .prepare("SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()")
    .get() as { bytes: number };
  if (bytes > LARGEST_REWRITTEN) return "copies of rows in unused parts of pages: the file is large, run VACUUM";
  for (let attempt = 1; ; attempt++) {
    try {
      database.exec("VACUUM");
      return true;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (attempt === MOST_ATTEMPTS) return "copies of rows in unused parts of pages, until VACUUM: the file is in use";
      await sleep(PAUSE_MS);
    }
  }
}
