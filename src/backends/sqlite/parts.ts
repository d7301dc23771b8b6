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

/** The tables of threads and records. A new migration is a new file, added at the end. */
export const checkpoints = (names: TableNames): Part => ({
  name: "checkpoints",
  migrations: [checkpointsV1(names)],
});

/** The tables of the store. */
export const store = (names: TableNames): Part => ({ name: "store", migrations: [storeV1(names)] });

export const versionTable = ({ schema }: TableNames): VersionTable => ({
  create: `CREATE TABLE ${schema} (part TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL) STRICT`,
  write: (part, version) =>
    `INSERT INTO ${schema} (part, version) VALUES ('${part}', ${version}) ON CONFLICT (part) DO UPDATE SET version = excluded.version`,
});

/** Every part, for a deployment that creates them all at once. */
export const allParts = (names: TableNames): readonly Part[] => [checkpoints(names), store(names)];

/** Exactly what is executed if the parts have the versions `from`: to be read, or run by a deployment. */
export function ddl(names: TableNames, wanted?: readonly string[], from?: Versions): readonly string[] {
  const parts = allParts(names);
  if (from !== undefined) assertVersions(from, parts);
  return migrationsFrom(from, partsNamed(wanted, parts), versionTable(names));
}
