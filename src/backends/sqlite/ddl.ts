import { ddl, tableNames } from "./layout.ts";

/** The statements that make the tables, for a deployment that makes them itself. */
export const sqliteDdl = (tablePrefix = "holdfast_"): readonly string[] => ddl(tableNames(tablePrefix));
