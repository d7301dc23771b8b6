import type { Access } from "../../driver/access.ts";
import { type OpenTables, tablesOf } from "../../driver/open-tables.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { tableNames } from "./layout.ts";
import { allParts } from "./parts.ts";
import { parsePostgresUrl } from "./url.ts";

export { classify } from "./classify.ts";

/** The tables of a schema. With read access every transaction is read-only. */
export async function openTables(url: string, access: Access): Promise<OpenTables> {
  const { connection, schema, tablePrefix } = postgresLogOptions({ ...parsePostgresUrl(url), access });
  const names = tableNames(schema, tablePrefix);
  return tablesOf(
    connection.lease(async (handle) => handle.tables(names)),
    allParts(names),
  );
}
