import {
  assertVersions,
  migrationsFrom,
  type Part,
  partsNamed,
  type Versions,
  type VersionTable,
} from "../../driver/migrations.ts";
import { checkpointsV1, grantsV1 } from "./checkpoints-v1.ts";
import type { TableNames } from "./layout.ts";
import { storeGrantsV1, storeV1 } from "./store-v1.ts";

/**
 * The tables of threads and records. A new migration is a new file, added at the
 * end. A deployment may have partitioned the tables: a migration names the parent
 * table, and the server changes all partitions.
 */
export const checkpoints = (names: TableNames, partitions = 0): Part => ({
  name: "checkpoints",
  migrations: [checkpointsV1(names, partitions)],
});

/** The tables of the store. */
export const store = (names: TableNames): Part => ({ name: "store", migrations: [storeV1(names)] });

export const versionTable = ({ version: table }: TableNames): VersionTable => ({
  create: `CREATE TABLE ${table} (part text PRIMARY KEY, version integer NOT NULL)`,
  write: (part, version) =>
    `INSERT INTO ${table} (part, version) VALUES ('${part}', ${version}) ON CONFLICT (part) DO UPDATE SET version = excluded.version`,
});

/** Sent only if the schema does not exist: a role that uses a schema need not be allowed to create one. */
export const createSchema = ({ schema }: TableNames): string => `CREATE SCHEMA IF NOT EXISTS ${schema}`;

/** Every part, for a deployment that creates them all at once. */
export const allParts = (names: TableNames, partitions = 0): readonly Part[] => [
  checkpoints(names, partitions),
  store(names),
];

export interface DdlOptions {
  /** The names of the wanted parts. */
  readonly parts: readonly string[] | undefined;
  readonly role: string | undefined;
  readonly partitions: number;
  /** The existing versions. */
  readonly from: Versions | undefined;
}

/** Exactly what is executed, and a role's grants: to be read, or run by a deployment. */
export function ddl(names: TableNames, { parts: wanted, role, partitions, from }: DdlOptions): readonly string[] {
  const all = allParts(names, partitions);
  if (from !== undefined) assertVersions(from, all);
  const parts = partsNamed(wanted, all);
  const isSchemaThere = from !== undefined || names.schema === '"public"';
  return [
    ...(isSchemaThere ? [] : [createSchema(names)]),
    ...migrationsFrom(from, parts, versionTable(names)),
    ...(role === undefined ? [] : grants(names, parts, `"${role.replaceAll('"', '""')}"`)),
  ];
}

const grants = (names: TableNames, parts: readonly Part[], role: string): readonly string[] => [
  `GRANT USAGE ON SCHEMA ${names.schema} TO ${role}`,
  `GRANT SELECT ON ${names.version} TO ${role}`,
  ...parts.flatMap(({ name }) => GRANTS[name]?.(names, role) ?? []),
];

const GRANTS: Readonly<Record<string, (names: TableNames, role: string) => readonly string[]>> = {
  checkpoints: grantsV1,
  store: storeGrantsV1,
};
