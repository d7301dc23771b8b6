import {
  assertVersions,
  migrationsFrom,
  type Part,
  type Versions,
  type VersionTable,
} from "../../driver/migrations.ts";
import { checkpointsV1, columnsV1, grantsV1 } from "./checkpoints-v1.ts";
import type { TableNames } from "./layout.ts";

/** A part, with the columns that its tables have had since their first version. */
export interface OraclePart extends Part {
  readonly columns: Readonly<Record<string, readonly string[]>>;
}

/** The tables of threads and their records. A new migration is a file of its own, behind the last. */
export const checkpoints = (names: TableNames): OraclePart => ({
  name: "checkpoints",
  migrations: [checkpointsV1(names)],
  columns: columnsV1(names),
});

export const versionTable = ({ version: table }: TableNames): VersionTable => ({
  create: `CREATE TABLE ${table} (part VARCHAR2(64 BYTE) NOT NULL PRIMARY KEY, version NUMBER(6) NOT NULL)`,
  write: (
    part,
    version,
  ) => `MERGE INTO ${table} t USING (SELECT '${part}' part, ${version} version FROM dual) n ON (t.part = n.part)
WHEN MATCHED THEN UPDATE SET t.version = n.version
WHEN NOT MATCHED THEN INSERT (part, version) VALUES (n.part, n.version)`,
});

/** Everything that a deployment creates at once. */
export const allParts = (names: TableNames): readonly OraclePart[] => [checkpoints(names)];

export interface DdlOptions {
  readonly role: string | undefined;
  /** The versions that are there. */
  readonly from: Versions | undefined;
}

/** Exactly what is executed, and the grants of a role: for reading, and for a deployment that does it itself. */
export function ddl(names: TableNames, { role, from }: DdlOptions): readonly string[] {
  const parts = allParts(names);
  if (from !== undefined) assertVersions(from, parts);
  return [
    ...migrationsFrom(from, parts, versionTable(names)),
    ...(role === undefined ? [] : [`GRANT SELECT ON ${names.version} TO ${role}`, ...grantsV1(names, role)]),
  ];
}
