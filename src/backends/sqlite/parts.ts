import {
  assertVersions,
  migrationsFrom,
  type Part,
  partsNamed,
  type Versions,
  type VersionTable,
} from "../../driver/migrations.ts";
import { checkpointsV1 } from "./checkpoints-v1.ts";
import type { TableNames } from "./layout.ts";
import { storeV1 } from "./store-v1.ts";

/** The tables of threads and their records. A new migration is a file of its own, behind the last. */
export const checkpoints = (names: TableNames): Part => ({
  name: "checkpoints",
  migrations: [checkpointsV1(names)],
});

/** The tables of items. */
export const store = (names: TableNames): Part => ({ name: "store", migrations: [storeV1(names)] });

export const versionTable = ({ schema }: TableNames): VersionTable => ({
  create: `CREATE TABLE ${schema} (part TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL) STRICT`,
  write: (part, version) =>
    `INSERT INTO ${schema} (part, version) VALUES ('${part}', ${version}) ON CONFLICT (part) DO UPDATE SET version = excluded.version`,
});

/** Everything that a deployment creates at once. */
export const allParts = (names: TableNames): readonly Part[] => [checkpoints(names), store(names)];

/** Exactly what is executed where the parts have the versions `from`: for reading, and for a deployment that does it itself. */
export function ddl(names: TableNames, wanted?: readonly string[], from?: Versions): readonly string[] {
  const parts = allParts(names);
  if (from !== undefined) assertVersions(from, parts);
  return migrationsFrom(from, partsNamed(wanted, parts), versionTable(names));
}
