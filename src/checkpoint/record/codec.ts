import type { LogEntry, LogRecord } from "../log/thread-log.ts";
import { newMessagesOf } from "./chain.ts";
import { wordsOf } from "./plan-record.ts";
import { isGraphs, openHeader, openRecord, type RecordHeader, type ThreadFacts, withChecksum } from "./record.ts";

/**
 * A record is one thing with two kinds of content: what changed in an agent's state, or what a graph put. All that
 * differs between them is in two codecs, and a thread is of one kind from its first record on.
 */
export interface RecordCodec {
  /** Refuses content that is none of this kind. The position whose content the record changes; `undefined`: any before it. */
  verify(record: LogRecord, header: RecordHeader): number | undefined;
  /** Who acts on such a thread instead of the features here. Loaded when the first one is met: few programs have graphs. */
  readonly saver?: () => Promise<typeof import("../graphs/graph-operations.ts")>;
}

export const AgentCodec: RecordCodec = {
  verify: (record, { buildsOn }) => {
    newMessagesOf(record);
    return buildsOn;
  },
};

export const GraphCodec: RecordCodec = {
  // Only the saver can read it; the checksum proves that it is what was written.
  verify: () => undefined,
  saver: () => import("../graphs/graph-operations.ts"),
};

export const codecOf = (thread: ThreadFacts | undefined): RecordCodec => (isGraphs(thread) ? GraphCodec : AgentCodec);

/**
 * A step is a record that holds a part of the history but is not a checkpoint: it
 * has no id, is not listed and cannot be loaded, but later checkpoints build on
 * it. A checkpoint becomes a step when its name moves on, and a state that does
 * not fit into one record consists of steps.
 */
export const isStep = (entry: LogEntry): boolean => entry.checkpointId === undefined && isContent(entry);

/** A checkpoint or a step, as opposed to the marks of deletions and leases. */
export function isContent(entry: LogEntry): boolean {
  const { kind } = openHeader(entry);
  return kind === "base" || kind === "delta";
}

/** Whether a record may hold a person's words: what makes up states, and what was sent to the thread. */
export const mayHoldWords = (entry: LogEntry): boolean => isContent(entry) || openHeader(entry).kind === "signal";

/** The same record without its name. `head` is the checkpoint before it. */
export function asStep(record: LogRecord, head: number): LogRecord {
  const { format: _, bodyBytes: _bytes, ...fields } = openRecord(record);
  const words = wordsOf(newMessagesOf(record));
  return withChecksum({ ...record, head, checkpointId: undefined, metadata: undefined, words, fields });
}
