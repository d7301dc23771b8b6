import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import type { PostgresPool } from "../../src/backends/postgres/connect.ts";
import { tableNames as postgresNames } from "../../src/backends/postgres/layout.ts";
import { migratedStore as postgresStore } from "../../src/backends/postgres/prepare-tables.ts";
import type { SqliteDatabase } from "../../src/backends/sqlite/connect.ts";
import { tableNames as sqliteNames } from "../../src/backends/sqlite/layout.ts";
import { configure, openDatabase } from "../../src/backends/sqlite/open-file.ts";
import { migratedStore as sqliteStore } from "../../src/backends/sqlite/prepare-tables.ts";
import type { MigratedStore, Part } from "../../src/driver/migrations.ts";
import { observedPool } from "../services/postgres-observed-pool.ts";

/** Where tables are migrated: `sqlite:/path`, or `postgres://…?tablePrefix=`. */
export interface MigratedPlace {
  readonly store: MigratedStore;
  readonly sql: (text: string) => Promise<readonly Record<string, unknown>[]>;
  readonly close: () => Promise<void>;
}

/** `onStatement` sees each statement before it is run; where it does not return, the statement is not run. */
export async function openPlace(
  url: string,
  onStatement: (text: string) => void = () => undefined,
): Promise<MigratedPlace> {
  if (url.startsWith("sqlite:")) return openSqlite(url.slice("sqlite:".length), onStatement);
  const dsn = new URL(url);
  const prefix = dsn.searchParams.get("tablePrefix") ?? "";
  dsn.searchParams.delete("tablePrefix");
  const pool = new Pool({ connectionString: dsn.href, max: 2 });
  pool.on("error", () => undefined);
  const observed: PostgresPool = observedPool(pool, ({ text }) => onStatement(text));
  const bounds = { connectTimeoutMs: 10_000, statementTimeoutMs: 30_000 };
  return {
    store: postgresStore(observed, postgresNames("public", prefix), bounds),
    sql: async (text) => (await pool.query<Record<string, unknown>>(text)).rows,
    close: () => pool.end(),
  };
}

async function openSqlite(path: string, onStatement: (text: string) => void): Promise<MigratedPlace> {
  const database = await openDatabase(path);
  configure(database);
  const observed: SqliteDatabase = {
    exec: (text) => {
      onStatement(text);
      return database.exec(text);
    },
    prepare: (text) => database.prepare(text),
    close: () => database.close(),
  };
  return {
    store: sqliteStore(observed, sqliteNames("holdfast_"), false),
    sql: async (text) => database.prepare(text).all() as Record<string, unknown>[],
    close: async () => void database.close(),
  };
}

/** The names of the tables of `notes` and of the versions, in SQL. */
export function tablesOf(url: string): { readonly notes: string; readonly versions: string } {
  const prefix = url.startsWith("sqlite:") ? "holdfast_" : new URL(url).searchParams.get("tablePrefix");
  return { notes: `${prefix}notes`, versions: `${prefix}schema` };
}

/** A part of the tests' own. Its second migration changes the tables of the first and what is in them. */
export function notes(url: string, version: 1 | 2): Part {
  const { notes: table } = tablesOf(url);
  const first = [
    `CREATE TABLE ${table} (id integer PRIMARY KEY, said text NOT NULL)`,
    `INSERT INTO ${table} (id, said) VALUES (1, 'of version 1')`,
  ];
  const second = [
    `ALTER TABLE ${table} ADD COLUMN words integer`,
    `UPDATE ${table} SET words = 3`,
    `CREATE TABLE ${table}_more (id integer PRIMARY KEY)`,
  ];
  return { name: "notes", migrations: [first, second].slice(0, version) };
}

export async function sqlitePlace(): Promise<{ readonly url: string; readonly dispose: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-migrated-"));
  return { url: `sqlite:${join(directory, "a.db")}`, dispose: () => rm(directory, { recursive: true }) };
}
