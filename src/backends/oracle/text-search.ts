import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { catchUp, type Indexing } from "./catch-up.ts";
import { type ReadEntries, search } from "./finding.ts";
import type { TableNames } from "./layout.ts";
import { wordsStatements } from "./words-statements.ts";

/** How the statements of a search are run. */
export interface SearchAccess extends Pick<Indexing, "ask"> {
  readonly readEntries: ReadEntries;
  readonly readBodies: ReadEntries;
}

export type TextSearch = Pick<ThreadLog, "search" | "catchUp">;

/** The methods of a log whose schema has a text index. */
export function searchThroughIndex(names: TableNames, { ask, readEntries, readBodies }: SearchAccess): TextSearch {
  const sql = wordsStatements(names);
  return {
    search: (words, options) => search(readEntries, sql, words, options),
    catchUp: (wordsOf, signal) => catchUp({ sql, ask, read: readBodies, signal }, wordsOf),
  };
}
