import type { Lease } from "./connection.ts";
import { type MigratedStore, migrate, type Part, type Versions, type VersionTable } from "./migrations.ts";

/** The tables of a storage that has a schema, for callers that inspect or change them on their own. */
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

/** The tables that a lease leads to. A first contact that fails keeps nothing open. */
export async function tablesOf(lease: Lease<MigratedStore>, parts: readonly Part[]): Promise<OpenTables> {
  const store = await lease.get().catch(async (error: unknown) => {
    await lease.release();
    throw error;
  });
  return {
    parts,
    table: store.table,
    versions: () => store.versions(),
    migrate: (wanted) => migrate(store, wanted),
    close: () => lease.release(),
  };
}
