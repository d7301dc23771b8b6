import { StateError } from "../../errors.ts";
import { ddl, tableNames } from "./layout.ts";

export interface PostgresqlDdlOptions {
  readonly schema?: string;
  readonly tablePrefix?: string;
  /** The role that the application connects as: it is granted what it needs, and no more. */
  readonly role?: string;
  /** In how many parts the tables are, by the hash of the thread id. @default none */
  readonly partitions?: number;
}

/** The statements that make the tables, for a deployment that makes them itself. */
export function postgresqlDdl(options: PostgresqlDdlOptions = {}): readonly string[] {
  const { schema = "public", tablePrefix = "holdfast_", role, partitions = 0 } = options;
  if (!Number.isInteger(partitions) || partitions < 0 || partitions > 1024) {
    throw new StateError("INVALID_ARGUMENT", "partitions must be a whole number up to 1024");
  }
  return ddl(tableNames(schema, tablePrefix), role, partitions);
}
