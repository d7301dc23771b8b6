import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";

/** A row as the client returns it: columns in capitals, LOBs as text or bytes. */
export type Row = Readonly<Record<string, string | number | Buffer | null | undefined>>;

const ENTRY = ["seq", "base", "head", "write_id", "checkpoint_id", "names", "header", "metadata", "lengthy"];
const LONG_ENTRY = ["long_names", "long_header", "long_metadata"];

/** The columns of an entry: all of them, or those that need no further round trip. */
export const entryColumns = (table: string, isLong: boolean): string =>
  (isLong ? [...ENTRY, ...LONG_ENTRY] : ENTRY).map((column) => `${table}.${column}`).join(", ");

export const toEntry = (row: Row): LogEntry => {
  const names = text(row, "NAMES") ?? text(row, "LONG_NAMES");
  return {
    seq: integer(row, "SEQ"),
    base: integer(row, "BASE"),
    head: integer(row, "HEAD"),
    writeId: text(row, "WRITE_ID") ?? text(row, "CHECKPOINT_ID") ?? "",
    checkpointId: text(row, "CHECKPOINT_ID"),
    ...(names !== undefined && { names: JSON.parse(names) as string[] }),
    header: text(row, "HEADER") ?? text(row, "LONG_HEADER") ?? "",
    metadata: text(row, "METADATA") ?? text(row, "LONG_METADATA"),
  };
};

export const toRecord = (row: Row): LogRecord => ({
  ...toEntry(row),
  body: bytes(row, "BODY") ?? bytes(row, "LONG_BODY") ?? Buffer.alloc(0),
  words: undefined,
});

export const threadIdOf = (row: Row): string => text(row, "THREAD_ID") ?? "";

export function text(row: Row, column: string): string | undefined {
  const value = row[column];
  return typeof value === "string" ? value : undefined;
}

const bytes = (row: Row, column: string): Buffer | undefined => {
  const value = row[column];
  return Buffer.isBuffer(value) ? value : undefined;
};

function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  throw new StateError("CORRUPT", "the thread's row names a record that is not in the table of records");
}
