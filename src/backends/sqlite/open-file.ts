import { closeSync, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";
import { isCannotOpen, openingFailure } from "./classify.ts";
import { isInMemory, type SqliteDatabase } from "./connect.ts";

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
  const refused = isInMemory(path) ? undefined : makePrivateFile(path);
  try {
    if (refused === undefined) return { database: open.forWriting(path), isReadOnly: false };
    if (!existsSync(path)) throw refused;
    return { database: openReadOnly(open, path, refused), isReadOnly: true };
  } catch (error) {
    throw openingFailure(path, error);
  }
}

/** Conversations are private: a new file gets a mode for its owner only, and SQLite gives its companion files the same mode. */
function makePrivateFile(path: string): unknown {
  try {
    closeSync(openSync(path, "a", 0o600));
    return undefined;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "EROFS" || code === "EACCES" || code === "EPERM") return error;
    throw openingFailure(path, error);
  }
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
    return open.unchanging(path);
  }
}

export interface Opener {
  forWriting(path: string): SqliteDatabase;
  forReading(path: string): SqliteDatabase;
  /** For a file that has no writer. */
  unchanging(path: string): SqliteDatabase;
}

/** Node's own SQLite where it has one, else the package. */
export const loadOpener = async (): Promise<Opener> => (await builtIn()) ?? (await fromPackage());

async function builtIn(): Promise<Opener | undefined> {
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

async function fromPackage(): Promise<Opener> {
  const { default: Database } = await importPeer<BetterSqlite>("better-sqlite3", "^12.8");
  return {
    forWriting: (path) => new Database(path),
    forReading: (path) => new Database(path, { readonly: true }),
    unchanging: (path) => new Database(copyInMemory(path), { readonly: true }),
  };
}

interface BetterSqlite {
  readonly default: new (path: string | Uint8Array, options?: { readonly readonly: boolean }) => SqliteDatabase;
}

const MOST_BYTES_IN_MEMORY = 1024 ** 3;

/**
 * The package does not support `immutable=1`, but it can open a buffer. Two header
 * bytes claim a write-ahead log, which a buffer does not have.
 */
function copyInMemory(path: string): Uint8Array {
  if (statSync(path).size > MOST_BYTES_IN_MEMORY) {
    throw new StateError(
      "PERMISSION_DENIED",
      `${JSON.stringify(path)} has no writer and is too large to be read with better-sqlite3; Node 22.13 and later read it in place`,
      { location: path },
    );
  }
  const bytes = readFileSync(path);
  bytes.fill(1, 18, 20);
  return bytes;
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
