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
  /** The grants of a role that only works with the tables: what it needs, and nothing more. */
  readonly grants: (role: string) => readonly string[];
}

/** The tables of one facet. */
export interface Deployment {
  /** The facet that keeps them: `oracleDdl({ of })`. */
  readonly of: "checkpointer" | "saver" | "store";
  /** As it was given, for messages. */
  readonly tableName: string;
  /** In capitals; `undefined` for the schema of the connected user. */
  readonly owner: string | undefined;
  /** The table with the version of each part. */
  readonly version: string;
  readonly parts: readonly OraclePart[];
}

/** The names that people use. */
export const TAKERS = {
  checkpointer: "oracleCheckpointer",
  saver: "OracleCheckpointSaver",
  store: "OracleStore",
} as const;

/** The tables of threads and records. A new migration is a new file, added at the end. */
export const checkpoints = (names: TableNames): OraclePart => ({
  name: "checkpoints",
  migrations: [checkpointsV1(names)],
  columns: columnsV1(names),
  grants: (role) => grantsV1(names, role),
});

/** The tables that a saver has beside its log. */
export const saver = (names: TableNames, tables: SaverTables): OraclePart => ({
  name: "saver",
  migrations: [saverV1(names, tables)],
  columns: saverColumnsV1(tables),
  grants: (role) => saverGrantsV1(tables, role),
});

/** The tables of a log, a checkpointer's or a saver's. */
export const logDeployment = (names: TableNames): Deployment => ({
  of: names.saver === undefined ? "checkpointer" : "saver",
  tableName: names.tableName,
  owner: names.owner,
  version: names.version,
  parts: [checkpoints(names), ...(names.saver === undefined ? [] : [saver(names, names.saver)])],
});

/** The tables of the store. */
export const store = (tables: StoreTables): OraclePart => ({
  name: "store",
  migrations: [storeV1(tables)],
  columns: storeColumnsV1(tables),
  grants: (role) => storeGrantsV1(tables, role),
});

/** A column in those tables, without a table of its own. */
export const vectors = (tables: StoreTables, dimension: number): OraclePart => ({
  name: "vectors",
  migrations: [vectorsV1(tables, dimension)],
  columns: {},
  grants: () => [],
});

/** Without a `dimension` there are no vectors; existing vectors of a table are not touched. */
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
  /** The existing versions. */
  readonly from: Versions | undefined;
}

/** Exactly what is executed, and a role's grants: to be read, or run by a deployment. */
export function ddl(deployment: Deployment, { role, from }: DdlOptions): readonly string[] {
  const { parts, version } = deployment;
  if (from !== undefined) assertVersions(from, parts);
  const granted = role === undefined ? [] : parts.flatMap(({ grants }) => grants(role));
  return [
    ...migrationsFrom(from, parts, versionTable(deployment)),
    ...(role === undefined ? [] : [`GRANT SELECT ON ${version} TO ${role}`, ...granted]),
  ];
}
