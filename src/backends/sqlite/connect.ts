import { resolve } from "node:path";
import { type Access, assertAccess } from "../../driver/access.ts";
import { SharedConnection } from "../../driver/connection.ts";
import type { Durability } from "../../driver/durability.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertLocalPath } from "../../driver/url.ts";
import type { SqliteHandle } from "./handle.ts";

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

export interface SqliteConnectionOptions {
  /**
   * The database file. It is created if it does not exist; its folder is not.
   * `":memory:"` keeps everything in this process. @default "holdfast.db"
   */
  readonly path?: string;
  /**
   * Your own connection (`node:sqlite` or `better-sqlite3`), instead of a path. It
   * stays yours: its journal, sync and `secure_delete` settings are not changed,
   * `capabilities.durability` reports what they give, and `close()` leaves it open.
   */
  readonly database?: SqliteDatabase;
  /** How long to wait while another connection holds the write lock. @default 10000 */
  readonly busyTimeoutMs?: number;
  /**
   * Overwrites deleted content, in the file and in its write-ahead log, so that
   * nothing readable of it is left. Your own connection keeps its setting. @default
   * true
   */
  readonly secureDelete?: boolean;
  /**
   * `"read"` opens the file read-only: neither the file nor its write-ahead log is
   * created or changed, and no writer has to wait. @default "write"
   */
  readonly access?: Access;
}

/** The options of a connection, each with its kind. */
export const CONNECTION_OPTIONS = {
  path: "string",
  database: "object",
  busyTimeoutMs: "number",
  secureDelete: "boolean",
  access: "string",
} as const;

/** The options with the defaults filled in. */
export interface ConnectionSettings {
  readonly path: string;
  /** The caller's own connection, which is never closed here. */
  readonly database: SqliteDatabase | undefined;
  readonly busyTimeoutMs: number;
  readonly secureDelete: boolean;
  readonly access: Access;
}

/** One open database for everything that is kept in it. Opened on first use; closed when its last holder closes. */
export class SqliteConnection extends SharedConnection<SqliteHandle> {
  readonly settings: ConnectionSettings;
  readonly durability: Durability;

  constructor(settings: ConnectionSettings) {
    super({
      open: async () => (await import("./handle.ts")).openHandle(settings),
      close: async (handle) => handle.close(),
    });
    const { database, path } = settings;
    this.settings = settings;
    this.durability = database === undefined ? durabilityOf(path) : durabilityOfConnection(database);
  }
}

/**
 * An open database that several facets share, such as `sqliteCheckpointer({
 * connection })`. Each facet is closed separately, and the last one to close also
 * closes the database.
 */
export function sqliteConnection(options: SqliteConnectionOptions = {}): SqliteConnection {
  assertOptions("sqliteConnection", options, CONNECTION_OPTIONS, {});
  return connectionOf(options);
}

export function connectionOf(given: SqliteConnectionOptions): SqliteConnection {
  const { path: name = "holdfast.db", database, busyTimeoutMs = 10_000, secureDelete = true, access = "write" } = given;
  assertAccess(access);
  assertLocalPath(name);
  // Resolved now, not when it is used first: the working directory may change.
  const path = isInMemory(name) ? name : resolve(name);
  return new SqliteConnection({ path, database, busyTimeoutMs, secureDelete, access });
}

const durabilityOf = (path: string): Durability => (isInMemory(path) ? "memory" : "fsync");

/** SQLite's names for databases that end with the process: one in memory, one in a temporary file. */
export const isInMemory = (path: string): boolean => path === ":memory:" || path === "";

/** The durability of a handed-in connection's settings: FULL (2) and EXTRA (3) sync each commit. */
function durabilityOfConnection(database: SqliteDatabase): Durability {
  if (fileOf(database) === undefined) return "memory";
  const { synchronous } = database.prepare("PRAGMA synchronous").get() as { synchronous: number };
  return synchronous >= 2 ? "fsync" : "os";
}

/** The path of the file that is open, without symbolic links; `undefined` for a database in memory. */
export function fileOf(database: SqliteDatabase): string | undefined {
  const { file } = database.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as {
    file: string | null;
  };
  return file || undefined;
}
