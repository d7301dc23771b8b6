import { assertWriteId } from "../../driver/ids.ts";
import { newId } from "../../driver/new-id.ts";
import { withHint } from "../../driver/position-hint.ts";
import { StateError } from "../../errors.ts";
import { type AgentState, heldFieldsOf } from "../../state/agent-state.ts";
import { NO_BYTES, type WatchedBytes } from "../../state/values/sealed-bytes.ts";
import { type SaveOptions, uncheckedHead } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import { placeOfTail } from "../log/append-rules.ts";
import { entries } from "../log/entries.ts";
import type { LogEntry, LogRecord } from "../log/thread-log.ts";
import { openHeader, type RecordHeader, type ThreadFacts } from "../record/record.ts";
import { originOf, rememberPosition } from "./position.ts";

/** One attempt at a save has a name. Repeating it under the same name finds what the earlier attempt did. */
export interface Attempt {
  readonly writeId: string;
  readonly checkpointId: string;
  /** Whether the ids that are made here have the hint at their position: from the first append on they stay as they are. */
  readonly isPlaced: boolean;
  /** The caller named the write, or an earlier attempt ended without an answer. */
  readonly isRepeated: boolean;
  /** Set if an attempt to create a thread ended without an answer: what was seen of that thread right afterwards. */
  readonly creation: CreationSeen | undefined;
}

export type CreationSeen = "made" | "absent" | "unknown";

const keyOf = (context: CheckpointContext, threadId: string): string => `${context.id} ${threadId}`;
/** A larger record is read again when it is needed, because a state should not be in memory twice. */
const MAX_KEPT_BYTES = 1024 * 1024;

/** Attempts with an unknown outcome. Repeating the same save reuses the name, so that it is applied once. */
const unsettled = new WeakMap<AgentState, Map<string, Attempt>>();

/**
 * For a save that may be a repetition: whether that write is already in the
 * thread, as far as this is known without reading the history. (A repetition that
 * meets a conflict does read it.)
 */
export async function appliedBefore(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  { writeId, isRepeated }: Attempt,
  { expectedHead }: SaveOptions,
): Promise<string | undefined> {
  if (!isRepeated) return undefined;
  const origin = originOf(context, state, threadId);
  const position = origin?.position;
  if (position?.writeId === writeId) {
    if (origin?.fields === heldFieldsOf(state)) return position.checkpointId;
    const which = `the write id ${JSON.stringify(writeId)} was used for checkpoint ${position.checkpointId}`;
    throw new StateError("INVALID_ARGUMENT", `${which}, and the state has changed since: a new write needs a new one`);
  }
  return expectedHead === uncheckedHead ? findWrite(context, state, threadId, writeId) : undefined;
}

export async function findWrite(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  writeId: string,
): Promise<string | undefined> {
  const tail = await context.call({ operation: "save", threadId }, (log) => log.tail(threadId));
  if (tail === undefined) return undefined;
  for await (const entry of entries(context, threadId)) {
    if (entry.writeId === writeId) return settled(context, state, threadId, tail.generation, entry);
  }
  return undefined;
}

export function attemptFor(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  options: SaveOptions,
): Attempt {
  const known = unsettled.get(state)?.get(keyOf(context, threadId));
  if (options.writeId !== undefined) assertWriteId(options.writeId);
  const name = known?.writeId ?? newId();
  // One name serves for both ids unless the caller gave one: the caller's write id may be used again
  // in the same thread.
  const otherwise = known?.checkpointId ?? (options.writeId === undefined ? name : newId());
  return {
    writeId: options.writeId ?? name,
    checkpointId: options.checkpointId ?? otherwise,
    isPlaced: known !== undefined,
    isRepeated: known !== undefined || options.writeId !== undefined,
    creation: known?.creation,
  };
}

/** The attempt as it is first made, at this position. If it has to go elsewhere, its ids stay, and the hint is wrong. */
export function placedAt(attempt: Attempt, seq: number, options: SaveOptions): Attempt {
  if (attempt.isPlaced) return attempt;
  const { writeId: name, checkpointId: other } = attempt;
  const writeId = options.writeId ?? withHint(name, seq);
  const checkpointId = options.checkpointId ?? (name === other ? writeId : withHint(other, seq));
  return { ...attempt, writeId, checkpointId, isPlaced: true };
}

/**
 * A new thread is named after its first write, so that a retry of that write
 * finds its own thread. But a caller's write id may be used again after the
 * thread was deleted, and a generation must not be.
 */
export const newGeneration = ({ writeId }: Attempt, options: SaveOptions): string =>
  options.writeId === undefined ? writeId : newId();

/** What the writer of a record knows about it. */
export interface MadeRecord extends Pick<RecordHeader, "chain" | "schema"> {
  readonly thread?: ThreadFacts | undefined;
  readonly bytes: WatchedBytes;
  /** Set if the next save is likely to move this record's name. */
  readonly record?: LogRecord | undefined;
}

/**
 * The record is in the log, from this attempt or an earlier one of the same name.
 * `made` may be omitted if only the entry is known.
 */
export function settled(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  generation: string,
  entry: LogEntry,
  made: MadeRecord = { ...openHeader(entry), bytes: NO_BYTES },
): string {
  forgetAttempt(context, state, threadId);
  const { seq, base, writeId, checkpointId = "" } = entry;
  const { chain, schema, thread, bytes, record } = made;
  rememberPosition(context, state, threadId, {
    generation,
    tail: placeOfTail({ generation, entry }),
    seq,
    checkpointId,
    writeId,
    base,
    chain,
    stored: heldFieldsOf(state),
    schema,
    bytes,
    thread,
    record: record !== undefined && record.body.byteLength <= MAX_KEPT_BYTES ? record : undefined,
  });
  return checkpointId;
}

/** Remembers that the outcome of this attempt is unknown. */
export function leaveUnsettled(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  attempt: Attempt,
): void {
  const attempts = unsettled.get(state) ?? new Map<string, Attempt>();
  unsettled.set(state, attempts.set(keyOf(context, threadId), attempt));
}

/** The next save of this state is a new attempt. */
export function forgetAttempt(context: CheckpointContext, state: AgentState, threadId: string): void {
  unsettled.get(state)?.delete(keyOf(context, threadId));
}
