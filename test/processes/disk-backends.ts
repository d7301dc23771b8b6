import { join } from "node:path";
import { FileCheckpointer, FileLog } from "../../src/backends/file/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { logOptions, SqliteLog } from "../../src/backends/sqlite/log.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/thread-log.ts";

/** The backends that several processes of one machine share through a directory. */
export const DISK_BACKENDS = ["file", "sqlite"] as const;
export type DiskBackend = (typeof DISK_BACKENDS)[number];

/** What a user would open; every process of a test calls it on the same directory. */
export const openOnDisk = (backend: DiskBackend, directory: string): Checkpointer =>
  backend === "file"
    ? new FileCheckpointer({ directory: threadsPath(directory) })
    : sqliteCheckpointer({ path: databasePath(directory) });

/** The driver alone, for a program that has to stand between it and the checkpointer. */
export const openLogOnDisk = (backend: DiskBackend, directory: string): ThreadLog =>
  backend === "file"
    ? new FileLog({ directory: threadsPath(directory) })
    : new SqliteLog(logOptions({ path: databasePath(directory) }));

export function asDiskBackend(name: string | undefined): DiskBackend {
  const found = DISK_BACKENDS.find((backend) => backend === name);
  if (found === undefined) throw new Error(`no backend ${JSON.stringify(name)}`);
  return found;
}

const threadsPath = (directory: string): string => join(directory, "threads");
export const databasePath = (directory: string): string => join(directory, "threads.db");
