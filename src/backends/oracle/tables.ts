import type { Access } from "../../driver/access.ts";
import { migrate } from "../../driver/migrations.ts";
import type { OpenTables } from "../../driver/open-tables.ts";
import { oracleLogOptions } from "./checkpointer.ts";
import { optionsOfUrl } from "./dsn.ts";
import { logDeployment } from "./parts.ts";
import { migratedStore } from "./prepare-tables.ts";

export { classify } from "./classify.ts";

/** The tables of threads. With read access nothing is created. */
export async function openTables(url: string, access: Access): Promise<OpenTables> {
  const { connection, names } = oracleLogOptions({ ...optionsOfUrl(url), access });
  const { parts, ...deployment } = logDeployment(names);
  const lease = connection.lease(async (handle) => handle);
  const handle = await lease.get().catch(async (error: unknown) => {
    await lease.release();
    throw error;
  });
  const store = migratedStore(handle, { ...deployment, parts });
  return {
    parts,
    table: store.table,
    versions: () => store.versions(),
    migrate: (wanted) => migrate(store, wanted),
    close: () => lease.release(),
  };
}
