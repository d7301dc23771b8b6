import { openingFailure } from "./classify.ts";
import type { ConnectionSettings, SqliteDatabase, SqliteStatement } from "./connect.ts";
import { Erasure } from "./erasure.ts";
import { configure, openFile } from "./open-file.ts";

/** An open database: what every facet works with. */
export interface SqliteHandle {
  readonly database: SqliteDatabase;
  /** The file lies where this process cannot write. */
  readonly isReadOnly: boolean;
  /** Takes what was deleted out of the write-ahead log, too. Absent where that is not ours to do. */
  readonly erasure: Erasure | undefined;
  readonly transaction: Readonly<Record<keyof typeof TRANSACTION, SqliteStatement>>;
  close(): void;
}

const TRANSACTION = {
  begin: "BEGIN IMMEDIATE",
  beginReading: "BEGIN DEFERRED",
  commit: "COMMIT",
  rollback: "ROLLBACK",
} as const;

export async function openHandle({ path, database: given, secureDelete }: ConnectionSettings): Promise<SqliteHandle> {
  if (given !== undefined) return handleOf(given, { isReadOnly: false });
  const { database, isReadOnly } = await openFile(path);
  try {
    if (!isReadOnly) configure(database, { secureDelete });
    const erasure = !isReadOnly && secureDelete ? new Erasure(database) : undefined;
    const close = (): void => {
      erasure?.finish();
      database.close();
    };
    return handleOf(database, { isReadOnly, erasure, close });
  } catch (error) {
    database.close();
    throw openingFailure(path, error);
  }
}

interface Ours {
  readonly isReadOnly: boolean;
  readonly erasure?: Erasure | undefined;
  readonly close?: () => void;
}

/** What was handed in has no `close`: it stays open. */
function handleOf(database: SqliteDatabase, { isReadOnly, erasure, close = () => undefined }: Ours): SqliteHandle {
  const { begin, beginReading, commit, rollback } = TRANSACTION;
  const transaction = {
    begin: database.prepare(begin),
    beginReading: database.prepare(beginReading),
    commit: database.prepare(commit),
    rollback: database.prepare(rollback),
  };
  return { database, isReadOnly, erasure, transaction, close };
}
