import type { Access } from "../../driver/access.ts";
import { openingFailure } from "./classify.ts";
import type { ConnectionSettings, SqliteDatabase, SqliteStatement } from "./connect.ts";
import { Erasure } from "./erasure.ts";
import { openForLooking } from "./looking-database.ts";
import { configure, openFile } from "./open-file.ts";

/** An open database. Every facet works with it. */
export interface SqliteHandle {
  readonly database: SqliteDatabase;
  /** The process cannot write the file, or it was opened with read access. */
  readonly isReadOnly: boolean;
  readonly access: Access;
  /** Opened here: whatever is done with it outside of our transactions is a transaction of its own. */
  readonly isOurs: boolean;
  /** Also removes deleted content from the write-ahead log. Absent where we may not do that. */
  readonly erasure: Erasure | undefined;
  /** Why a failed transaction should be retried: the file changed while it was read without a lock. */
  readonly disturbance: () => Error | undefined;
  readonly transaction: Readonly<Record<keyof typeof TRANSACTION, SqliteStatement>>;
  close(): void;
}

const TRANSACTION = {
  begin: "BEGIN IMMEDIATE",
  beginReading: "BEGIN DEFERRED",
  commit: "COMMIT",
  rollback: "ROLLBACK",
  savepoint: "SAVEPOINT holdfast_one",
  release: "RELEASE holdfast_one",
  rollbackTo: "ROLLBACK TO holdfast_one",
} as const;

export async function openHandle(settings: ConnectionSettings): Promise<SqliteHandle> {
  const { path, database: given, secureDelete, access } = settings;
  if (given !== undefined) return handleOf(given, { isOurs: false, isReadOnly: access === "read", access });
  if (access === "read") {
    const database = await openForLooking(path);
    const disturbance = (): Error | undefined => database.disturbance();
    return handleOf(database, { isOurs: true, isReadOnly: true, access, disturbance, close: () => database.close() });
  }
  const { database, isReadOnly } = await openFile(path);
  try {
    if (!isReadOnly) configure(database, { secureDelete });
    const erasure = !isReadOnly && secureDelete ? new Erasure(database) : undefined;
    const close = (): void => {
      erasure?.finish();
      database.close();
    };
    return handleOf(database, { isOurs: true, isReadOnly, access, erasure, close });
  } catch (error) {
    database.close();
    throw openingFailure(path, error);
  }
}

interface Ours {
  readonly isOurs: boolean;
  readonly isReadOnly: boolean;
  readonly access: Access;
  readonly erasure?: Erasure | undefined;
  readonly disturbance?: () => Error | undefined;
  readonly close?: () => void;
}

/** A connection that was handed in gets no `close`: it stays open. */
function handleOf(database: SqliteDatabase, ours: Ours): SqliteHandle {
  const { isOurs, isReadOnly, access, erasure, disturbance = () => undefined, close = () => undefined } = ours;
  const prepared = Object.entries(TRANSACTION).map(([name, sql]) => [name, database.prepare(sql)] as const);
  const transaction = Object.fromEntries(prepared) as SqliteHandle["transaction"];
  return { database, isOurs, isReadOnly, access, erasure, disturbance, transaction, close };
}
