import type { Access } from "../../driver/access.ts";
import { type OpenTables, tablesOf } from "../../driver/open-tables.ts";
import { oracleLogOptions } from "./checkpointer.ts";
import { optionsOfUrl } from "./dsn.ts";
import { logDeployment } from "./parts.ts";
import { migratedStore } from "./prepare-tables.ts";

export { classify } from "./classify.ts";

/** The tables of threads. With read access nothing is created. */
export async function openTables(url: string, access: Access): Promise<OpenTables> {
  const { connection, names } = oracleLogOptions({ ...optionsOfUrl(url), access });
  const deployment = logDeployment(names);
  return tablesOf(
    connection.lease(async (handle) => migratedStore(handle, deployment)),
    deployment.parts,
  );
}
