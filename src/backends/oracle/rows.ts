import { ENTRY_COLUMNS } from "../../checkpoint/sql-log/rows.ts";

/** A row as the client returns it: columns in capitals, LOBs as text or bytes. */
export type Row = Readonly<Record<string, string | number | Buffer | null | undefined>>;

const ENTRY = [...ENTRY_COLUMNS, "lengthy"];
const LONG_ENTRY = ["long_names", "long_header", "long_metadata"];

/** The columns of an entry: all of them, or those that need no further round trip. */
export const entryColumns = (table: string, isLong: boolean): string =>
  (isLong ? [...ENTRY, ...LONG_ENTRY] : ENTRY).map((column) => `${table}.${column}`).join(", ");

export function text(row: Row, column: string): string | undefined {
  const value = row[column];
  return typeof value === "string" ? value : undefined;
}
