import { join } from "node:path";
import { FileCheckpointer } from "../../src/backends/file/index.ts";
import { FileLog } from "../../src/backends/file/log.ts";
import type { SqliteDatabase } from "../../src/backends/sqlite/connect.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { SqliteLog } from "../../src/backends/sqlite/log.ts";
import { openDatabase } from "../../src/backends/sqlite/open-file.ts";
import { sqliteLogOptions } from "../../src/backends/sqlite/options.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";

/** The backends that several processes of one machine share through a directory. */
export const DISK_BACKENDS = ["file", "sqlite"] as const;
/** Those that are killed and lose their power. One folds its history all the time, so that most kills meet that. */
export const KILLED_BACKENDS = ["file", "sqlite", "file folding often"] as const;
/** The last one gives up the safety of the others: what it loses proves that a test can see a loss. */
export type DiskBackend = (typeof KILLED_BACKENDS)[number] | "sqlite without sync";
const ALL: readonly DiskBackend[] = [...KILLED_BACKENDS, "sqlite without sync"];

/** What a user would open; every process of a test calls it on the same directory. */
export async function openOnDisk(backend: DiskBackend, directory: string): Promise<Checkpointer> {
  switch (backend) {
    case "file":
      return new FileCheckpointer({ directory: threadsPath(directory) });
    case "file folding often":
      return new Checkpointer(openLogOnDisk(backend, directory));
    case "sqlite":
      return sqliteCheckpointer({ path: databasePath(directory) });
    case "sqlite without sync":
      return new Checkpointer(new UnsyncedLog(await openDatabase(databasePath(directory))));
  }
}

/** A connection that was handed in stays open; this one has no other owner. */
class UnsyncedLog extends SqliteLog {
  readonly #database: SqliteDatabase;

  constructor(database: SqliteDatabase) {
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = OFF");
    super(sqliteLogOptions({ database }));
    this.#database = database;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#database.close();
  }
}

/** The driver alone, for a program that has to stand between it and the checkpointer. */
export function openLogOnDisk(backend: DiskBackend, directory: string): ThreadLog {
  if (backend === "file folding often") return new FileLog({ directory: threadsPath(directory), foldEvery: 2 });
  if (backend === "file") return new FileLog({ directory: threadsPath(directory) });
  return new SqliteLog(sqliteLogOptions({ path: databasePath(directory) }));
}

/** A backend's name that came over a command line. */
export function asDiskBackend(name: string | undefined): DiskBackend {
  const found = ALL.find((backend) => backend === name);
  if (found !== undefined) return found;
  throw new Error(`no backend ${JSON.stringify(name)}`);
}

const threadsPath = (directory: string): string => join(directory, "threads");
export const databasePath = (directory: string): string => join(directory, "threads.db");
