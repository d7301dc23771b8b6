import { DEFAULT_TABLE_NAME } from "./facts.ts";
import { tableNames } from "./layout.ts";
import { assertRole } from "./names.ts";
import { ddl } from "./parts.ts";

export interface OracleDdlOptions {
  /** As for `oracleCheckpointer`: `AGENTS` or `OWNER.AGENTS`. @default "HOLDFAST" */
  readonly tableName?: string;
  /** The user or role that the application connects as: it is granted what it needs, and no more. */
  readonly role?: string;
  /** The versions of the tables that are there, as the table `<tableName>_SCHEMA` has them. @default there are no tables */
  readonly from?: Readonly<Record<string, number>>;
}

/**
 * The statements that create the tables, or upgrade those that are there:
 * exactly what is executed on first use. The owner runs them, and commits.
 */
export function oracleDdl(options: OracleDdlOptions = {}): readonly string[] {
  const { tableName = DEFAULT_TABLE_NAME, role, from } = options;
  if (role !== undefined) assertRole(role);
  return ddl(tableNames(tableName), { role, from });
}
