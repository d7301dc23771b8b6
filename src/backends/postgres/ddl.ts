import { StateError } from "../../errors.ts";
import { tableNames } from "./layout.ts";
import { ddl } from "./parts.ts";

export interface PostgresqlDdlOptions {
  /** Which parts to create: `"checkpoints"`, `"store"`. @default all */
  readonly parts?: readonly string[];
  readonly schema?: string;
  readonly tablePrefix?: string;
  /** The role that the application connects as. It is granted what it needs, and nothing more. */
  readonly role?: string;
  /** The number of hash partitions, by thread id. @default unpartitioned */
  readonly partitions?: number;
  /** The versions of the existing tables, as the table `<prefix>schema` lists them. @default there are no tables */
  readonly from?: Readonly<Record<string, number>>;
}

/** The statements that create the tables, or upgrade existing ones: exactly what is executed on first use. */
export function postgresqlDdl(options: PostgresqlDdlOptions = {}): readonly string[] {
  const { schema = "public", tablePrefix = "holdfast_", parts, role, partitions = 0, from } = options;
  if (!Number.isInteger(partitions) || partitions < 0 || partitions > 1024) {
    throw new StateError("INVALID_ARGUMENT", "partitions must be a whole number up to 1024");
  }
  return ddl(tableNames(schema, tablePrefix), { parts, role, partitions, from });
}
