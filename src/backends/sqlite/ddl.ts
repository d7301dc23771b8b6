import { tableNames } from "./layout.ts";
import { ddl } from "./parts.ts";

export interface SqliteDdlOptions {
  /** Which parts to create: `"checkpoints"`, `"store"`. @default all */
  readonly parts?: readonly string[];
  /** The versions of the existing tables, as the table `<prefix>schema` lists them. @default there are no tables */
  readonly from?: Readonly<Record<string, number>>;
}

/** The statements that create the tables, or upgrade existing ones: exactly what is executed on first use. */
export const sqliteDdl = (tablePrefix = "holdfast_", { parts, from }: SqliteDdlOptions = {}): readonly string[] =>
  ddl(tableNames(tablePrefix), parts, from);
