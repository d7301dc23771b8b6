import type { AppendOutcome, KnownPlace, LogChain, LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import type { TextRow } from "./ask.ts";

/** The largest value of a position column. No thread gets that long, but a caller may ask for one. */
export const MAX_SEQ: number = 2 ** 31 - 1;

/** Clamped to what the column holds, so that any number from outside is compared rather than refused by the server. */
export const positionIn = (before: number = MAX_SEQ): number => Math.min(Math.max(before, 0), MAX_SEQ);

export const ENTRY_COLUMNS: readonly string[] = [
  "seq",
  "base",
  "head",
  "write_id",
  "checkpoint_id",
  "names",
  "header",
  "metadata",
];

export const entryColumns = (table: string): string => ENTRY_COLUMNS.map((column) => `${table}.${column}`).join(", ");

export const toEntry = (row: TextRow): LogEntry => ({
  seq: integer(row, "seq"),
  base: integer(row, "base"),
  head: integer(row, "head"),
  writeId: row["write_id"] ?? row["checkpoint_id"] ?? "",
  checkpointId: row["checkpoint_id"] ?? undefined,
  ...(typeof row["names"] === "string" && { names: JSON.parse(row["names"]) as string[] }),
  header: row["header"] ?? "",
  metadata: row["metadata"] ?? undefined,
});

export const toRecord = (row: TextRow): LogRecord => ({ ...toEntry(row), body: bytes(row), words: undefined });

/** A chain, from the tail's row and the rows of the records that were asked for. */
export const chainOf = (tail: TextRow | undefined, rows: readonly TextRow[]): LogChain | undefined =>
  tail && { generation: tail["generation"] ?? "", tail: toEntry(tail), records: rows.map(toRecord) };

export const ABSENT: AppendOutcome = { appended: false, tail: undefined, generation: undefined, occupant: undefined };

/** What an append is told that did not fit, from the thread's row and the entries at its tail and at the wanted place. */
export const refusalOf = (thread: TextRow, entries: readonly LogEntry[], expected: KnownPlace): AppendOutcome => ({
  appended: false,
  tail: entries.find(({ seq }) => seq === Number(thread["tail"])),
  generation: thread["generation"] ?? undefined,
  occupant:
    thread["generation"] === expected.generation ? entries.find(({ seq }) => seq === expected.seq + 1) : undefined,
});

/** Most checkpoints are named by their write id: the name is then stored once. */
export const storedWriteId = ({ writeId, checkpointId }: LogEntry): string | null =>
  writeId === checkpointId ? null : writeId;

export const storedNames = ({ names }: LogEntry): string | null => (names === undefined ? null : JSON.stringify(names));

function integer(row: TextRow, column: string): number {
  const value = row[column];
  if (value !== null && value !== undefined) return Number(value);
  throw new StateError("CORRUPT", "the thread's row names a record that is not in the table of records");
}

/** `\x` and two hexadecimal digits per byte, as every server since 9.0 sends bytea. */
function bytes(row: TextRow): Uint8Array {
  const text = row["body"] ?? "";
  if (!text.startsWith("\\x")) {
    throw new StateError("INCOMPATIBLE", "the server sends bytes in a form of its own: leave bytea_output at hex");
  }
  return Buffer.from(text.slice(2), "hex");
}
