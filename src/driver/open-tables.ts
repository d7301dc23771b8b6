import type { Part, Versions, VersionTable } from "./migrations.ts";

/** The tables of a storage that has a schema, for whoever wants to see or change them by themselves. */
export interface OpenTables {
  /** All that this build knows there. */
  readonly parts: readonly Part[];
  readonly table: VersionTable;
  /** `undefined` where there are no tables. Changes nothing. */
  versions(): Promise<Versions | undefined>;
  /** Creates the parts, or brings older ones up to date. */
  migrate(parts: readonly Part[]): Promise<void>;
  close(): Promise<void>;
}
