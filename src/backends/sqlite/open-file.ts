import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";
import { isCannotOpen, openingFailure } from "./classify.ts";
import { isInMemory, type SqliteDatabase } from "./connect.ts";
import { assertOneFile, canonicalPath, createPrivately, makePrivate, writeRefusal } from "./database-file.ts";
import { assertOneLibrary, libraryOf } from "./one-library.ts";

export interface OpenedFile {
  readonly database: SqliteDatabase;
  /** The process cannot write the file. */
  readonly isReadOnly: boolean;
}

/** Opens the file with Node's own SQLite where it has one, else with the package. */
export async function openDatabase(path: string): Promise<SqliteDatabase> {
  return (await openFile(path)).database;
}

/** Like `openDatabase`; an existing file that cannot be written is opened read-only. */
export async function openFile(path: string): Promise<OpenedFile> {
  if (!isInMemory(path) && !existsSync(dirname(path))) {
    throw new StateError("INVALID_ARGUMENT", `the folder of ${JSON.stringify(path)} does not exist; create it first`);
  }
  const open = await loadOpener();
  try {
    return isInMemory(path)
      ? { database: open.forWriting(path), isReadOnly: false }
      : openPrivateFile(open, canonicalPath(path));
  } catch (error) {
    throw openingFailure(path, error);
  }
}

function openPrivateFile(open: Opener, path: string): OpenedFile {
  assertOneLibrary(path, open.library);
  if (!existsSync(path)) createPrivately(path);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) {
    const database = open.forWriting(path);
    makePrivate(path);
    return { database, isReadOnly: false };
  }
  assertOneFile(path, stats);
  const refused = writeRefusal(path);
  if (refused === undefined) return { database: open.forWriting(path), isReadOnly: false };
  return { database: openReadOnly(open, path, refused), isReadOnly: true };
}

/**
 * A database in WAL mode needs its companion files even for reading. If they are
 * missing and the whole mount is read-only, there is no writer, and the file can be
 * opened as immutable.
 */
function openReadOnly(open: Opener, path: string, refused: unknown): SqliteDatabase {
  const database = open.forReading(path);
  try {
    database.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get();
    return database;
  } catch (error) {
    database.close();
    const isReadOnlyMount = (refused as { code?: unknown }).code === "EROFS";
    if (!isReadOnlyMount || !isCannotOpen(error)) throw error;
    const unchanging = open.unchanging(path);
    if (unchanging === undefined) throw error;
    return unchanging;
  }
}

export interface Opener {
  /** Which copy of SQLite it is. */
  readonly library: string;
  forWriting(path: string): SqliteDatabase;
  forReading(path: string): SqliteDatabase;
  /** For a file that has no writer: reads it without locks. `undefined` where `forReading` creates nothing beside it either. */
  unchanging(path: string): SqliteDatabase | undefined;
}

/** Node's own SQLite where it has one, else the package. */
export async function loadOpener(): Promise<Opener> {
  const open = (await builtIn()) ?? (await fromPackage());
  const sample = open.forWriting(":memory:");
  try {
    return { ...open, library: libraryOf(sample) };
  } finally {
    sample.close();
  }
}

async function builtIn(): Promise<Omit<Opener, "library"> | undefined> {
  if (process.getBuiltinModule?.("node:sqlite") === undefined) return undefined;
  const { DatabaseSync } = await import("node:sqlite");
  const open = (path: string | URL, options: { readOnly: boolean }): SqliteDatabase =>
    new DatabaseSync(path, options) as unknown as SqliteDatabase;
  return {
    forWriting: (path) => open(path, { readOnly: false }),
    forReading: (path) => open(path, { readOnly: true }),
    unchanging: (path) => open(new URL(`${pathToFileURL(path).href}?immutable=1`), { readOnly: true }),
  };
}

async function fromPackage(): Promise<Omit<Opener, "library">> {
  const { default: Database } = await importPeer<BetterSqlite>("better-sqlite3", "^12.8");
  return {
    forWriting: (path) => new Database(path),
    forReading: (path) => new Database(path, { readonly: true }),
    unchanging: (path) => {
      const copy = copyInMemory(path);
      return copy && new Database(copy, { readonly: true });
    },
  };
}

interface BetterSqlite {
  readonly default: new (path: string | Uint8Array, options?: { readonly readonly: boolean }) => SqliteDatabase;
}

const MOST_BYTES_IN_MEMORY = 1024 ** 3;
const HEADER_BYTES = 20;

/** Prints a database that keeps a write-ahead log; prints its header alone if it keeps a rollback journal. */
const PRINT_DATABASE = `
  const { createReadStream, openSync, readSync } = require("node:fs");
  const file = openSync(process.argv[1], "r");
  const header = Buffer.alloc(${HEADER_BYTES});
  const length = readSync(file, header, 0, header.length, 0);
  if (length === header.length && header[18] === 2) createReadStream("", { fd: file, start: 0 }).pipe(process.stdout);
  else process.stdout.write(header.subarray(0, length));
`;

/**
 * The package does not support `immutable=1`, but it can open a buffer. Two header
 * bytes claim a write-ahead log, which a buffer does not have. The file is read by
 * another process, because this one would lose its locks on it by closing it.
 */
function copyInMemory(path: string): Uint8Array | undefined {
  if (statSync(path).size > MOST_BYTES_IN_MEMORY) {
    throw new StateError(
      "PERMISSION_DENIED",
      `${JSON.stringify(path)} has no writer and is too large to be read with better-sqlite3; Node 22.13 and later read it in place`,
      { location: path },
    );
  }
  accessSync(path, constants.R_OK);
  const { stdout, stderr, status, error } = spawnSync(process.execPath, ["-e", PRINT_DATABASE, path], {
    maxBuffer: MOST_BYTES_IN_MEMORY + 1024,
    env: { ...process.env, ELECTRON_RUN_AS_NODE: "1", NODE_OPTIONS: "" },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`another process could not read the file: ${stderr.toString().trim()}`);
  if (stdout.length <= HEADER_BYTES) return undefined;
  stdout.fill(1, 18, 20);
  return stdout;
}

/** Before this version, two connections that write at once could corrupt a WAL file: https://sqlite.org/wal.html#walresetbug */
const SAFE_WAL_VERSION = [3, 51, 3] as const;

/**
 * SQLite blocks the whole process while it waits for a lock, so its own wait is
 * short. Longer waits happen outside, without blocking.
 */
export const BUSY_TIMEOUT_MS = 5;

/**
 * Makes every commit reach the disk before it returns. Uses WAL where that is safe,
 * and the slower rollback journal where SQLite still has the bug.
 */
export function configure(database: SqliteDatabase, { secureDelete = true }: { secureDelete?: boolean } = {}): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  const { version } = database.prepare("SELECT sqlite_version() AS version").get() as { version: string };
  const mode = isAtLeast(version, SAFE_WAL_VERSION) ? "WAL" : "DELETE";
  database.exec(`PRAGMA journal_mode = ${mode}`);
  database.exec("PRAGMA synchronous = FULL");
  // Deleted content is overwritten with zeros.
  if (secureDelete) database.exec("PRAGMA secure_delete = ON");
  if (process.platform === "darwin") database.exec("PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1");
}

export function isAtLeast(version: string, wanted: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, part] of wanted.entries()) {
    const actual = parts[index] ?? 0;
    if (actual !== part) return actual > part;
  }
  return true;
}
