import type { LogEntry } from "./thread-log.ts";

/** What `ThreadLog.search` takes and answers. */

export interface SearchHit {
  readonly threadId: string;
  readonly entry: LogEntry;
  /** Higher is better; comparable only within one answer. */
  readonly score: number;
  /** Handed back as `after`, the search continues behind this hit. Left out by a driver that cannot continue. */
  readonly place?: string;
}

/**
 * "best": the highest score first. "newest": more records have the words than the driver ranks, so the newest come
 * first: of one thread exactly, of several as the storage tells them apart (by when they were indexed, or by when
 * their threads were made).
 */
export type SearchOrder = "best" | "newest";

/** Fewer hits than were asked for are the last ones. */
export interface FoundRecords {
  readonly hits: readonly SearchHit[];
  readonly order: SearchOrder;
}

export interface SearchRange {
  readonly limit: number;
  readonly prefix?: string;
  /** The place of a hit of the same words and prefix. The order stays the one of that answer. */
  readonly after?: string;
}
