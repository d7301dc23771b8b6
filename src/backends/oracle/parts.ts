import {
  assertVersions,
  migrationsFrom,
  type Part,
  type Versions,
  type VersionTable,
} from "../../driver/migrations.ts";
import { checkpointsV1, columnsV1, grantsV1 } from "./checkpoints-v1.ts";
import type { SaverTables, TableNames } from "./layout.ts";
import { saverColumnsV1, saverGrantsV1, saverV1 } from "./saver-v1.ts";
import type { StoreTables } from "./store-layout.ts";
import { storeColumnsV1, storeGrantsV1, storeV1, vectorsV1 } from "./store-v1.ts";

/** A part, with the columns that its tables have had since their first version. */
export interface OraclePart extends Part {
  readonly columns: Readonly<Record<string, readonly string[]>>;
  /** What a role that only works with the tables is granted, and no more. */
  readonly grants: (role: string) => readonly string[];
}

/** What one facet has in the database. */
export interface Deployment {
  /** Who keeps it there: `oracleDdl({ of })`. */
  readonly of: "checkpointer" | "saver" | "store";
  /** As it was given, for messages. */
  readonly tableName: string;
  /** In capitals; `undefined` where it is the schema of whoever is connected. */
  readonly owner: string | undefined;
  /** The table with the version of each part. */
  readonly version: string;
  readonly parts: readonly OraclePart[];
}

/** As people write it. */
export const TAKERS = {
  checkpointer: "oracleCheckpointer",
  saver: "OracleCheckpointSaver",
  store: "OracleStore",
} as const;

/** The tables of threads and their records. A new migration is a file of its own, behind the last. */
export const checkpoints = (names: TableNames): OraclePart => ({
  name: "checkpoints",
  migrations: [checkpointsV1(names)],
  columns: columnsV1(names),
  grants: (role) => grantsV1(names, role),
});

/** What a saver has beside them. */
export const saver = (names: TableNames, tables: SaverTables): OraclePart => ({
  name: "saver",
  migrations: [saverV1(names, tables)],
  columns: saverColumnsV1(tables),
  grants: (role) => saverGrantsV1(tables, role),
});

/** What a log has, be it a checkpointer's or a saver's. */
export const logDeployment = (names: TableNames): Deployment => ({
  of: names.saver === undefined ? "checkpointer" : "saver",
  tableName: names.tableName,
  owner: names.owner,
  version: names.version,
  parts: [checkpoints(names), ...(names.saver === undefined ? [] : [saver(names, names.saver)])],
});

/** The tables of items. */
export const store = (tables: StoreTables): OraclePart => ({
  name: "store",
  migrations: [storeV1(tables)],
  columns: storeColumnsV1(tables),
  grants: (role) => storeGrantsV1(tables, role),
});

/** A column of theirs, and no table of its own. */
export const vectors = (tables: StoreTables, dimension: number): OraclePart => ({
  name: "vectors",
  migrations: [vectorsV1(tables, dimension)],
  columns: {},
  grants: () => [],
});

/** Without a `dimension` there are no vectors; those of a table that has some are left as they are. */
export const storeDeployment = (tables: StoreTables, dimension: number | undefined): Deployment => ({
  of: "store",
  tableName: tables.tableName,
  owner: tables.owner,
  version: tables.version,
  parts: [store(tables), ...(dimension === undefined ? [] : [vectors(tables, dimension)])],
});

export const versionTable = ({ version: table }: Pick<Deployment, "version">): VersionTable => ({
  create: `CREATE TABLE ${table} (part VARCHAR2(64 BYTE) NOT NULL PRIMARY KEY, version NUMBER(6) NOT NULL)`,
  write: (
    part,
    version,
  ) => `MERGE INTO ${table} t USING (SELECT '${part}' part, ${version} version FROM dual) n ON (t.part = n.part)
WHEN MATCHED THEN UPDATE SET t.version = n.version
WHEN NOT MATCHED THEN INSERT (part, version) VALUES (n.part, n.version)`,
});

export interface DdlOptions {
  readonly role: string | undefined;
  /** The versions that are there. */
  readonly from: Versions | undefined;
}

/** Exactly what is executed, and the grants of a role: for reading, and for a deployment that does it itself. */
export function ddl(deployment: Deployment, { role, from }: DdlOptions): readonly string[] {
  const { parts, version } = deployment;
  if (from !== undefined) assertVersions(from, parts);
  const granted = role === undefined ? [] : parts.flatMap(({ grants }) => grants(role));
  return [
    ...migrationsFrom(from, parts, versionTable(deployment)),
    ...(role === undefined ? [] : [`GRANT SELECT ON ${version} TO ${role}`, ...granted]),
  ];
}
