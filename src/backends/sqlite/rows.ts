import type { LogEntry, LogRecord } from "../../checkpoint/thread-log.ts";
import { ROWS_PER_THREAD } from "./layout.ts";

export interface ThreadRow {
  readonly thread_no: number;
  readonly generation: string;
  readonly tail: number;
  readonly head: number;
  readonly indexed: number;
}

/** A row of the records table, as both client libraries return it. */
export interface EntryRow {
  readonly id: number;
  readonly base: number;
  readonly head: number;
  readonly write_id: string | null;
  readonly checkpoint_id: string | null;
  readonly header: string;
  readonly metadata: string | null;
}

export interface RecordRow extends EntryRow {
  readonly body: Uint8Array;
}

export const ENTRY_COLUMNS: readonly string[] = [
  "id",
  "base",
  "head",
  "write_id",
  "checkpoint_id",
  "header",
  "metadata",
];

export const rowId = (threadNo: number, seq: number): number => threadNo * ROWS_PER_THREAD + seq;

export const toEntry = (row: EntryRow): LogEntry => ({
  seq: row.id % ROWS_PER_THREAD,
  base: row.base,
  head: row.head,
  writeId: row.write_id ?? row.checkpoint_id ?? "",
  checkpointId: row.checkpoint_id ?? undefined,
  header: row.header,
  metadata: row.metadata ?? undefined,
});

export const toRecord = (row: RecordRow): LogRecord => ({ ...toEntry(row), body: row.body, words: undefined });
