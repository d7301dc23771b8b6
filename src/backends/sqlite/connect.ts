import { closeSync, existsSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { Durability } from "../../checkpoint/thread-log.ts";
import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";

/** The part of a SQLite connection that is used here. `node:sqlite` and `better-sqlite3` both have this shape. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close(): unknown;
}

export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

export type SqliteValue = string | number | null | Uint8Array;

/** Opens the file with what this Node has: its own SQLite, else the package. */
export async function openDatabase(path: string): Promise<SqliteDatabase> {
  if (path !== ":memory:" && !existsSync(dirname(path))) {
    throw new StateError("INVALID_ARGUMENT", `the folder of ${JSON.stringify(path)} does not exist; create it first`);
  }
  // Conversations are nobody else's business: a new file is its owner's alone, and SQLite gives its companions the same mode.
  if (path !== ":memory:" && path !== "") closeSync(openSync(path, "a", 0o600));
  return (await openBuiltIn(path)) ?? openPackage(path);
}

async function openBuiltIn(path: string): Promise<SqliteDatabase | undefined> {
  if (process.getBuiltinModule?.("node:sqlite") === undefined) return undefined;
  const { DatabaseSync } = await import("node:sqlite");
  return new DatabaseSync(path) as unknown as SqliteDatabase;
}

async function openPackage(path: string): Promise<SqliteDatabase> {
  // A variable, so that a type check does not need a package that most users do not have.
  const name = "better-sqlite3";
  const module = await importPeer(name, "^12.8", () => import(name) as Promise<BetterSqlite>);
  return new module.default(path);
}

interface BetterSqlite {
  readonly default: new (path: string) => SqliteDatabase;
}

/** Two connections that write at once could corrupt a WAL file before this version: https://sqlite.org/wal.html#walresetbug */
const SAFE_WAL_VERSION = [3, 51, 3] as const;

/**
 * Makes every commit reach the disk before it returns. WAL where that is safe;
 * the older rollback journal, slower but sound, where SQLite still has the bug.
 */
export function configure(database: SqliteDatabase): void {
  database.exec("PRAGMA busy_timeout = 20");
  const { version } = database.prepare("SELECT sqlite_version() AS version").get() as { version: string };
  const mode = isAtLeast(version, SAFE_WAL_VERSION) ? "WAL" : "DELETE";
  database.exec(`PRAGMA journal_mode = ${mode}`);
  database.exec("PRAGMA synchronous = FULL");
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

export const durabilityOf = (path: string): Durability => (path === ":memory:" || path === "" ? "memory" : "fsync");

/** What a handed-in connection's own settings give: FULL (2) and EXTRA (3) sync each commit. */
export function durabilityOfConnection(database: SqliteDatabase): Durability {
  const { file } = database.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as {
    file: string | null;
  };
  if (file === "" || file === null) return "memory";
  const { synchronous } = database.prepare("PRAGMA synchronous").get() as { synchronous: number };
  return synchronous >= 2 ? "fsync" : "os";
}
