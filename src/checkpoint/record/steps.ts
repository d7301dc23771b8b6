import type { CheckpointContext } from "../context.ts";
import type { LogEntry, LogRecord } from "../log/thread-log.ts";
import { newMessagesOf } from "./chain.ts";
import { wordsOf } from "./plan-record.ts";
import { openHeader, openRecord, withChecksum } from "./record.ts";

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

/** The same record without its name. `head` is the checkpoint before it. */
export function asStep(record: LogRecord, head: number): LogRecord {
  const { format: _, bodyBytes: _bytes, ...fields } = openRecord(record);
  const words = wordsOf(newMessagesOf(record));
  return withChecksum({ ...record, head, checkpointId: undefined, metadata: undefined, words, fields });
}

/** The steps that only `entry` needs: those between it and the previous checkpoint. */
export async function stepsOf(
  context: CheckpointContext,
  threadId: string,
  entry: LogEntry,
  older: LogEntry | undefined,
): Promise<readonly LogRecord[]> {
  const { kind, buildsOn } = openHeader(entry);
  if (kind === "base" || buildsOn === older?.seq) return [];
  const chain = await readChain(context, threadId, entry);
  return (chain ?? []).filter((record) => record.seq > (older?.seq ?? 0) && isStep(record));
}

async function readChain(
  context: CheckpointContext,
  threadId: string,
  { checkpointId = "" }: Pick<LogEntry, "checkpointId">,
): Promise<readonly LogRecord[] | undefined> {
  const place = { operation: "save", threadId, checkpointId };
  return (await context.call(place, (log) => log.readCheckpoint(threadId, checkpointId)))?.records;
}

/** The record of this checkpoint as a step; `undefined` if it is gone. Pass `record` if it is at hand. */
export async function withoutName(
  context: CheckpointContext,
  threadId: string,
  { seq, checkpointId, record }: Pick<LogEntry, "seq" | "checkpointId"> & { readonly record?: LogRecord | undefined },
): Promise<LogRecord | undefined> {
  const whole = record ?? (await readChain(context, threadId, { checkpointId }))?.at(-1);
  if (whole?.seq !== seq) return undefined;
  const before = { before: seq, limit: 1 };
  const [older] = await context.call({ operation: "save", threadId }, (log) => log.list(threadId, before));
  return asStep(whole, older?.seq ?? 0);
}
