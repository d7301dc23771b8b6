import {
  assertKnown,
  assertMigrated,
  knownVersions,
  type MigratedStore,
  migrate,
  type Part,
  type Versions,
} from "../../driver/migrations.ts";
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
  return () => {
    const row = present.get(part.name) as { version: number } | undefined;
    assertKnown(part.name, row?.version ?? 0, part.migrations.length);
  };
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
