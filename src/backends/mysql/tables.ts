import type { Access } from "../../driver/access.ts";
import {
  assertMigrated,
  assertVersions,
  knownVersions,
  type MigratedStore,
  migrate,
  migrationsFrom,
  type Part,
  partsNamed,
  type Versions,
} from "../../driver/migrations.ts";
import { type OpenTables, tablesOf } from "../../driver/open-tables.ts";
import { VersionWatch } from "../../driver/version-watch.ts";
import { StateError } from "../../errors.ts";
import { mysqlLogOptions } from "./checkpointer.ts";
import { classify, numberOf } from "./classify.ts";
import { parseMysqlUrl } from "./connect.ts";
import type { Borrowed, MysqlHandle } from "./handle.ts";
import { allParts, type TableNames, tableNames, versionTable } from "./layout.ts";

export { classify } from "./classify.ts";

/** Creates the tables of a part on first use, or migrates older ones. With read access it only checks them. */
export async function prepareTables(handle: MysqlHandle, names: TableNames, part: Part): Promise<VersionWatch> {
  const store = migratedStore(handle, names);
  if (handle.access === "write") await migrate(store, [part]);
  else await assertMigrated(store, [part], `the database, with the tablePrefix "${names.prefix}",`);
  return new VersionWatch(store, [part]);
}

/**
 * Every DDL statement commits by itself. A statement may run again if a process died between two of them, which changes
 * nothing; the version is written last, so that a stored version is always true. One process at a time migrates.
 */
function migratedStore(handle: MysqlHandle, names: TableNames): MigratedStore {
  return {
    table: versionTable(names),
    versions: () => handle.onSession((session) => versionsIn(session, names)),
    // What a role may do is only known by trying.
    mayCreate: async () => true,
    change: (plan) =>
      handle.onSession(async (session) => {
        const lock = `CONCAT('holdfast ', MD5(CONCAT(DATABASE(), '.${names.prefix}')))`;
        const [row] = await session.query(`SELECT GET_LOCK(${lock}, 10) AS taken`);
        if (Number(row?.["taken"]) !== 1) throw new StateError("UNAVAILABLE", "another process is creating the tables");
        for (const statement of plan(await versionsIn(session, names))) await session.query(statement);
        await session.query(`DO RELEASE_LOCK(${lock})`);
      }),
    remedy: (found) => {
      const from = found && `, from: ${JSON.stringify(knownVersions(found, allParts(names)))}`;
      const given = `{ tablePrefix: "${names.prefix}"${from ?? ""} }`;
      return `run the statements of mysqlDdl(${given}) as a user who may create tables, with this one as its role`;
    },
    classify,
  };
}

async function versionsIn(session: Borrowed, { version }: TableNames): Promise<Versions | undefined> {
  try {
    const rows = await session.query(`SELECT part, version FROM ${version}`);
    return Object.fromEntries(rows.map((row) => [String(row["part"]), Number(row["version"])]));
  } catch (error) {
    if (numberOf(error) === 1146) return undefined;
    throw error;
  }
}

/** The tables of a database, for `holdfast migrate`. */
export async function openTables(url: string, access: Access): Promise<OpenTables> {
  const { connection, names } = mysqlLogOptions({ ...parseMysqlUrl(url), access });
  return tablesOf(
    connection.lease(async (handle) => migratedStore(handle, names)),
    allParts(names),
  );
}

export interface MysqlDdlOptions {
  /** Which parts to create: `"checkpoints"`, `"store"`. @default all */
  readonly parts?: readonly string[];
  readonly tablePrefix?: string;
  /** The account that the application connects as, such as `"app@'10.%'"`. It is granted what it needs, and nothing more. */
  readonly role?: string;
  /** The versions of the existing tables, as the table `<prefix>schema` lists them. @default there are no tables */
  readonly from?: Versions;
}

/** The statements that create the tables, or upgrade existing ones: exactly what is executed on first use. */
export function mysqlDdl(options: MysqlDdlOptions = {}): readonly string[] {
  const { tablePrefix = "holdfast_", parts, role, from } = options;
  const names = tableNames(tablePrefix);
  const all = allParts(names);
  if (from !== undefined) assertVersions(from, all);
  const { threads, records, members, words, version } = names;
  const { items, itemWords, itemVectors, itemWrites, itemBuckets } = names;
  const ofPart: Readonly<Record<string, readonly string[]>> = {
    checkpoints: [threads, records, names.names, members, words],
    store: [items, itemWords, itemVectors, itemWrites, itemBuckets],
  };
  const tables = partsNamed(parts, all).flatMap(({ name }) => ofPart[name] ?? []);
  return [
    ...migrationsFrom(from, partsNamed(parts, all), versionTable(names)),
    ...(role === undefined ? [] : [`GRANT SELECT ON ${version} TO ${role}`]),
    ...(role === undefined ? [] : tables.map((table) => `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`)),
  ];
}
