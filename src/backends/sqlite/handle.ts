import type { Access } from "../../driver/access.ts";
import { openingFailure } from "./classify.ts";
import { type ConnectionSettings, fileOf, type SqliteDatabase, type SqliteStatement } from "./connect.ts";
import { PlaceOfFile } from "./database-file.ts";
import { Erasure } from "./erasure.ts";
import { openForLooking } from "./looking-database.ts";
import { libraryOf, noteLibrary } from "./one-library.ts";
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
  /** Absent for a database in memory, and with read access, which follows the name to the present file. */
  readonly place: PlaceOfFile | undefined;
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
  if (given !== undefined) {
    // It stays open when we are done with it.
    const { place, forget: close } = onDisk(given, false);
    return handleOf(given, { isOurs: false, isReadOnly: access === "read", access, place, close });
  }
  if (access === "read") {
    const database = await openForLooking(path);
    const disturbance = (): Error | undefined => database.disturbance();
    return handleOf(database, { isOurs: true, isReadOnly: true, access, disturbance, close: () => database.close() });
  }
  const { database, isReadOnly } = await openFile(path);
  try {
    if (!isReadOnly) configure(database, { secureDelete });
    // SQLite opens the companions with the first reading, and they stay there until it is closed.
    database.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get();
    const { place, forget } = onDisk(database, true);
    const erasure = !isReadOnly && secureDelete ? new Erasure(database) : undefined;
    const close = (): void => {
      erasure?.finish();
      database.close();
      forget?.();
    };
    return handleOf(database, { isOurs: true, isReadOnly, access, erasure, place, close });
  } catch (error) {
    database.close();
    throw openingFailure(path, error);
  }
}

/** What is to be watched of a database that is a file. */
function onDisk(database: SqliteDatabase, isOurs: boolean): { place?: PlaceOfFile; forget?: () => void } {
  const file = fileOf(database);
  if (file === undefined) return {};
  return { place: new PlaceOfFile(file, { isOurs }), forget: noteLibrary(file, libraryOf(database)) };
}

interface Ours {
  readonly isOurs: boolean;
  readonly isReadOnly: boolean;
  readonly access: Access;
  readonly erasure?: Erasure | undefined;
  readonly disturbance?: () => Error | undefined;
  readonly place?: PlaceOfFile | undefined;
  readonly close?: (() => void) | undefined;
}

function handleOf(database: SqliteDatabase, ours: Ours): SqliteHandle {
  const { isOurs, isReadOnly, access, erasure, place, disturbance = () => undefined, close = () => undefined } = ours;
  const prepared = Object.entries(TRANSACTION).map(([name, sql]) => [name, database.prepare(sql)] as const);
  const transaction = Object.fromEntries(prepared) as SqliteHandle["transaction"];
  return { database, isOurs, isReadOnly, access, erasure, disturbance, place, transaction, close };
}
