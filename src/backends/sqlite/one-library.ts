import { StateError } from "../../errors.ts";
import type { SqliteDatabase } from "./connect.ts";

interface Use {
  readonly library: string;
  count: number;
}

/** The databases that are open in this thread, and with which copy of SQLite. */
const OPEN = new Map<string, Use>();

/** Which copy of SQLite a connection is of. */
export function libraryOf(database: SqliteDatabase): string {
  const { id } = database.prepare("SELECT sqlite_source_id() AS id").get() as { id: string };
  return id;
}

/**
 * Two copies of SQLite in one process (Node's own and that of `better-sqlite3`) do not
 * see each other's locks on a file, and one drops the other's when it closes a
 * connection. So this has to be asked before a file is opened.
 */
export function assertOneLibrary(file: string, library: string): void {
  if ((OPEN.get(file)?.library ?? library) === library) return;
  throw new StateError(
    "INVALID_ARGUMENT",
    `${JSON.stringify(file)} is open in this process with another copy of SQLite (Node's own and that of better-sqlite3 are two), and each would drop the other's locks. Open every connection of the process with the same one`,
    { location: file },
  );
}

/** Returns what takes the note back. */
export function noteLibrary(file: string, library: string): () => void {
  assertOneLibrary(file, library);
  const use = OPEN.get(file) ?? { library, count: 0 };
  use.count++;
  OPEN.set(file, use);
  return () => {
    use.count--;
    if (use.count === 0) OPEN.delete(file);
  };
}
