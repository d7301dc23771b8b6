import { StateError } from "../../errors.ts";
import type { AppendOutcome, KnownPlace, LogChain, LogEntry, LogRecord, ThreadTail } from "../log/thread-log.ts";
import type { Row } from "./dialect.ts";

/** The largest value of a position column. No thread gets that long, but a caller may ask for one. */
export const MAX_SEQ: number = 2 ** 31 - 1;

/** Clamped to what the column holds, so that any number from outside is compared rather than refused by the server. */
export const positionIn = (before: number = MAX_SEQ): number => Math.min(Math.max(before || 0, 0), MAX_SEQ);

export const ENTRY_COLUMNS: readonly string[] = [
  ...["seq", "base", "head", "write_id", "checkpoint_id", "names", "header", "metadata"],
];

export const entryColumns = (table: string): string => ENTRY_COLUMNS.map((column) => `${table}.${column}`).join(", ");

/** The text of a column, from a client that hands out texts or one that hands out their bytes. */
export function textIn(row: Row, column: string): string | undefined {
  const value = row[column];
  if (typeof value === "string") return value;
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
    : undefined;
}

export const numberIn = (row: Row | undefined, column: string): number => Number(row?.[column] ?? Number.NaN);

export const isTrue = (row: Row | undefined, column: string): boolean => numberIn(row, column) === 1;

export const threadIdIn = (row: Row | undefined): string => textIn(row ?? {}, "thread_id") ?? "";

export function toEntry(row: Row): LogEntry {
  const names = textIn(row, "names");
  return {
    seq: position(row, "seq"),
    base: position(row, "base"),
    head: position(row, "head"),
    writeId: textIn(row, "write_id") ?? textIn(row, "checkpoint_id") ?? "",
    checkpointId: textIn(row, "checkpoint_id"),
    ...(names !== undefined && { names: JSON.parse(names) as string[] }),
    header: textIn(row, "header") ?? "",
    metadata: textIn(row, "metadata"),
  };
}

export function toRecord(row: Row): LogRecord {
  const { body } = row;
  return { ...toEntry(row), body: body instanceof Uint8Array ? body : Buffer.alloc(0), words: undefined };
}

/** A chain from rows of records and the row of the tail, which is the last one and may come without its body. */
export function chainOf(rows: readonly Row[]): LogChain | undefined {
  const tail = rows.at(-1);
  if (tail === undefined) return undefined;
  const records = rows.filter((row) => isTrue(row, "wanted")).map(toRecord);
  return { generation: textIn(tail, "generation") ?? "", tail: toEntry(tail), records };
}

export function tailOf(row: Row | undefined): ThreadTail | undefined {
  if (row === undefined) return undefined;
  const ttlMs = row["ttl_ms"] ?? undefined;
  const left = ttlMs === undefined ? {} : { ttlMs: Math.max(Number(ttlMs), 0) };
  return { generation: textIn(row, "generation") ?? "", entry: toEntry(row), ...left };
}

export const ABSENT: AppendOutcome = { appended: false, tail: undefined, generation: undefined, occupant: undefined };

/** What an append is told that did not fit, from the thread's row with the entries at its tail and at the wanted place. */
export function refusalOf(rows: readonly Row[], expected: KnownPlace): AppendOutcome {
  const entries = rows.map(toEntry);
  const generation = textIn(rows[0] ?? {}, "generation");
  const occupant = entries.find(({ seq }) => seq === expected.seq + 1);
  return {
    appended: false,
    tail: entries.find(({ seq }) => seq === numberIn(rows[0], "tail")),
    generation,
    occupant: generation === expected.generation ? occupant : undefined,
  };
}

/** Most checkpoints are named by their write id: the name is then stored once. */
export const storedWriteId = ({ writeId, checkpointId }: LogEntry): string | null =>
  writeId === checkpointId ? null : writeId;

export const storedNames = ({ names }: LogEntry): string | null => (names === undefined ? null : JSON.stringify(names));

function position(row: Row, column: string): number {
  const value = row[column];
  if (value !== null && value !== undefined) return Number(value);
  throw new StateError("CORRUPT", "the thread's row names a record that is not in the table of records");
}
