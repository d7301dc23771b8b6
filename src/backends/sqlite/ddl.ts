import { tableNames } from "./layout.ts";
import { ddl } from "./parts.ts";

export interface SqliteDdlOptions {
  /** `"checkpoints"`, `"store"`: what the program works with. @default all */
  readonly parts?: readonly string[];
  /** The versions of the tables that are there, as the table `<prefix>schema` has them. @default there are no tables */
  readonly from?: Readonly<Record<string, number>>;
}

/** The statements that create the tables, or upgrade those that are there: exactly what is executed on first use. */
export const sqliteDdl = (tablePrefix = "holdfast_", { parts, from }: SqliteDdlOptions = {}): readonly string[] =>
  ddl(tableNames(tablePrefix), parts, from);
