import type { Access } from "../../driver/access.ts";
import { migrate } from "../../driver/migrations.ts";
import type { OpenTables } from "../../driver/open-tables.ts";
import { parseLocalUrl } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { tableNames } from "./layout.ts";
import { sqliteLogOptions } from "./options.ts";
import { allParts, versionTable } from "./parts.ts";
import { migratedStore } from "./prepare-tables.ts";

export { classify } from "./classify.ts";

/** The tables of a file. Read access creates nothing; a file that does not exist has no tables. */
export async function openTables(url: string, access: Access): Promise<OpenTables> {
  const { path, parameters } = parseLocalUrl(url);
  const { connection, tablePrefix } = sqliteLogOptions({ path, access, ...parameters });
  const names = tableNames(tablePrefix);
  const lease = connection.lease(async ({ database, isReadOnly }) => migratedStore(database, names, isReadOnly));
  const store = await lease.get().catch(async (error: unknown) => {
    await lease.release();
    throw error;
  });
  return {
    parts: allParts(names),
    table: versionTable(names),
    versions: async () => {
      try {
        return await store.versions();
      } catch (error) {
        if (access === "read" && StateError.is(error, "NOT_FOUND")) return undefined;
        throw error;
      }
    },
    migrate: (parts) => migrate(store, parts),
    close: () => lease.release(),
  };
}
