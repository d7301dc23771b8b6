import type { Access } from "../../driver/access.ts";
import { migrate } from "../../driver/migrations.ts";
import type { OpenTables } from "../../driver/open-tables.ts";
import { optionsOfUrl, oracleLogOptions } from "./checkpointer.ts";
import { tableNames } from "./layout.ts";
import { allParts, checkpoints } from "./parts.ts";
import { migratedStore } from "./prepare-tables.ts";

export { classify } from "./classify.ts";

/** The tables of a schema. With read access nothing is created. */
export async function openTables(url: string, access: Access): Promise<OpenTables> {
  const { connection, tableName } = oracleLogOptions({ ...optionsOfUrl(url), access });
  const names = tableNames(tableName);
  const lease = connection.lease(async (handle) => handle);
  const handle = await lease.get().catch(async (error: unknown) => {
    await lease.release();
    throw error;
  });
  const store = migratedStore(handle, names, checkpoints(names));
  return {
    parts: allParts(names),
    table: store.table,
    versions: () => store.versions(),
    migrate: async (parts) => {
      for (const part of allParts(names)) {
        if (parts.some(({ name }) => name === part.name)) await migrate(migratedStore(handle, names, part), [part]);
      }
    },
    close: () => lease.release(),
  };
}
