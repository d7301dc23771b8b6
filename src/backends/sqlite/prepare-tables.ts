import {
  assertKnown,
  assertMigrated,
  knownVersions,
  type MigratedStore,
  migrate,
  type Part,
  type Versions,
} from "../../driver/migrations.ts";
import { StateError } from "../../errors.ts";
import { classify } from "./classify.ts";
import { fileOf, type SqliteDatabase } from "./connect.ts";
import type { SqliteHandle } from "./handle.ts";
import type { TableNames } from "./layout.ts";
import { allParts, versionTable } from "./parts.ts";

/**
 * Creates the tables of a part on first use, or migrates older ones. With read access
 * it only checks them. Returns what every transaction begins with: it throws where
 * another process has migrated the part to a version that this build does not know.
 */
export async function prepareTables(
  { database, isReadOnly, access }: Pick<SqliteHandle, "database" | "isReadOnly" | "access">,
  names: TableNames,
  part: Part,
): Promise<() => void> {
  const store = migratedStore(database, names, isReadOnly);
  if (access === "write") await migrate(store, [part]);
  else await assertMigrated(store, [part], nameOf(database));
  const present = database.prepare(`SELECT version FROM ${names.schema} WHERE part = ?`);
  const assertCurrent = (): void => {
    const { version = 0 } = (present.get(part.name) ?? {}) as { version?: number };
    if (version > part.migrations.length) assertKnown(part.name, version, part.migrations.length);
  };
  const damage = damagedSchema(database, part);
  if (damage === undefined) return assertCurrent;
  // A newer build may have migrated it in this moment.
  assertCurrent();
  throw damage;
}

export function migratedStore(database: SqliteDatabase, names: TableNames, isReadOnly: boolean): MigratedStore {
  return {
    table: versionTable(names),
    versions: async () => versionsIn(database, names),
    mayCreate: async () => !isReadOnly,
    change: async (plan) => {
      // Takes the write lock first: only one process migrates at a time. Nothing is awaited until the commit, because the
      // connection may have another owner, whose statements must not get into our transaction.
      database.exec("BEGIN IMMEDIATE");
      try {
        for (const statement of plan(versionsIn(database, names))) database.exec(statement);
        database.exec("COMMIT");
      } catch (error) {
        rollback(database);
        throw error;
      }
    },
    remedy: (found) => {
      const from = found && `tablePrefix, { from: ${JSON.stringify(knownVersions(found, allParts(names)))} }`;
      const where = `${nameOf(database)} once where it and its folder can be written`;
      return `open ${where}, or run the statements of sqliteDdl(${from ?? ""}) there`;
    },
    classify,
  };
}

/** An object that a migration makes, with its name. */
const MAKES = /^CREATE (?:UNIQUE INDEX|INDEX|TABLE|VIEW|TRIGGER|VIRTUAL TABLE) (\w+)/;

/**
 * SQLite keeps the text of each table, index and trigger in a row without a checksum,
 * and parses it at every opening. A flipped bit there can make a statement fail for
 * every thread, or change what a trigger does.
 */
function damagedSchema(database: SqliteDatabase, { migrations }: Part): StateError | undefined {
  const rows = database.prepare("SELECT name, sql FROM sqlite_master").all() as {
    name: unknown;
    sql: unknown;
  }[];
  const stored = new Map(rows.map(({ name, sql }) => [name, sql]));
  for (const made of migrations.flat()) {
    const name = MAKES.exec(made)?.[1];
    if (name === undefined) continue;
    const found = stored.get(name);
    if (typeof found === "string" && withoutSpaces(found) === withoutSpaces(made)) continue;
    return new StateError(
      "CORRUPT",
      `${found === undefined ? `${name} is missing from` : `the text of ${name} is not what holdfast wrote in`} the schema of ${nameOf(database)}: it was damaged or changed by hand. Restore the file from a backup, or copy its rows into a new one with .recover of the sqlite3 shell`,
      { location: `schema, ${name}` },
    );
  }
  return undefined;
}

/** A deployment may have run the statements in a layout of its own. */
const withoutSpaces = (sql: string): string => sql.replaceAll(/\s+/g, "");

function versionsIn(database: SqliteDatabase, { schema }: TableNames): Versions | undefined {
  const known = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(schema);
  if (known === undefined) return undefined;
  const rows = database.prepare(`SELECT part, version FROM ${schema}`).all() as { part: string; version: number }[];
  return Object.fromEntries(rows.map(({ part, version }) => [part, version]));
}

const nameOf = (database: SqliteDatabase): string => {
  const file = fileOf(database);
  return file === undefined ? "the database" : JSON.stringify(file);
};

/** After some errors SQLite has already rolled back; then there is nothing left to do. */
function rollback(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // The original error matters, not this one.
  }
}
