import { assertWriteId, newId, withHint } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { SaveOptions } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import type { LogEntry } from "../log/thread-log.ts";
import { openHeader } from "../record/record.ts";
import { type Position, positionOf } from "./position.ts";
import { editsAt, type Thread } from "./thread.ts";

/** One attempt at a save has a name. Repeating it under the same name finds what the earlier attempt did. */
export interface Attempt {
  readonly writeId: string;
  readonly checkpointId: string;
  /** Whether the ids that are made here have the hint at their position: from the first append on they stay as they are. */
  readonly isPlaced: boolean;
  /** The caller named the write, or an earlier attempt ended without an answer. */
  readonly isRepeated: boolean;
  /** The records that were sent without an answer. */
  readonly sent: readonly LogEntry[];
  /** Of the state, if the caller named the write: another process, which sent something else, may use the same name. */
  readonly digest: string | undefined;
  /** Set if an attempt to create a thread ended without an answer: what was seen of that thread right afterwards. */
  readonly creation: "made" | "absent" | "unknown" | undefined;
}

const keyOf = (context: CheckpointContext, threadId: string): string => `${context.id} ${threadId}`;

/** Attempts with an unknown outcome. Repeating the same save reuses the name, so that it is applied once. */
const unsettled = new WeakMap<AgentState, Map<string, Attempt>>();

export function attemptFor(
  { context, id: threadId }: Thread,
  state: AgentState,
  { writeId, checkpointId }: SaveOptions,
  digestOf: () => string | undefined,
): Attempt {
  const known = unsettled.get(state)?.get(keyOf(context, threadId));
  if (writeId !== undefined) assertWriteId(writeId);
  const name = known?.writeId ?? newId();
  // One name serves for both ids unless the caller gave one: the caller's write id may be used again
  // in the same thread.
  const otherwise = known?.checkpointId ?? (writeId === undefined ? name : newId());
  return {
    writeId: writeId ?? name,
    checkpointId: checkpointId ?? otherwise,
    isPlaced: known !== undefined,
    isRepeated: known !== undefined || writeId !== undefined,
    sent: known?.sent ?? [],
    digest: writeId === undefined ? undefined : digestOf(),
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
 * Whether a record is what an earlier attempt wrote. The write id alone does not say so: two clones of one virtual
 * machine draw the same random numbers, and callers give the same name twice.
 */
export const isOf = ({ writeId, sent, digest }: Attempt, entry: LogEntry): boolean =>
  entry.writeId === writeId &&
  (sent.some((record) => record.header === entry.header || isRewritten(record, entry)) ||
    (digest !== undefined && openHeader(entry).digest === digest));

/** A vacuum or a deletion made the record build on another one; the rest of its header stayed. */
function isRewritten(record: LogEntry, entry: LogEntry): boolean {
  const [was, is] = [openHeader(record), openHeader(entry)];
  const buildsOnOther = was.buildsOn !== is.buildsOn;
  return buildsOnOther && was.createdAt === is.createdAt && was.messageCount === is.messageCount;
}

/** The record of an earlier attempt, wherever it is in the history, and the generation that it was found in. */
export async function findAttempt(
  thread: Thread,
  isMine: (entry: LogEntry) => boolean,
): Promise<{ readonly generation: string; readonly entry: LogEntry } | undefined> {
  const tail = await thread.tail();
  if (tail === undefined) return undefined;
  const { generation } = tail;
  for await (const entry of thread.entries()) if (isMine(entry)) return { generation, entry };
  return undefined;
}

/** Remembers that the outcome of this attempt is unknown. */
export function leaveUnsettled({ context, id }: Thread, state: AgentState, attempt: Attempt): void {
  const attempts = unsettled.get(state) ?? new Map<string, Attempt>();
  unsettled.set(state, attempts.set(keyOf(context, id), attempt));
}

/** The next save of this state is a new attempt. */
export function forgetAttempt({ context, id }: Thread, state: AgentState): void {
  unsettled.get(state)?.delete(keyOf(context, id));
}

/**
 * An attempt at making a thread got no answer. Repeating it is right where the
 * thread was never made, and wrong where it was made and has been deleted since:
 * that would bring it back. A deleted thread leaves no trace, so what can be told
 * apart must be told right away: by one look, without retries, because the caller
 * is waiting for the error that came before.
 */
export async function creationSeen(thread: Thread, generation: string): Promise<Attempt["creation"]> {
  try {
    const found = await thread.context.log.tail(thread.id);
    return found?.generation === generation ? "made" : "absent";
  } catch {
    return "unknown";
  }
}

/** Refuses to repeat the creation of a thread that may have been deleted since. The next save counts as a new one. */
export async function assertNotDeleted(thread: Thread, state: AgentState, { creation }: Attempt): Promise<void> {
  if (creation === undefined || creation === "absent") return;
  if ((await thread.tail()) !== undefined) return;
  forgetAttempt(thread, state);
  const { name } = thread.context.log;
  const what =
    creation === "made"
      ? "was made by an earlier attempt at this save and has been deleted since"
      : "is not there: an earlier attempt at this save got no answer, so it was either never made or deleted since";
  throw new StateError(
    "CONFLICT",
    `${name}: thread ${JSON.stringify(thread.id)} ${what}. Save once more if it should be there; nothing was written`,
    { backend: name, operation: "save", threadId: thread.id, actual: null, written: "no" },
  );
}

/**
 * What a repeated save is told that met a conflict and found no record of its earlier attempt. A vacuum or a deletion may
 * have taken that record away while its content lives on in the newest state. So it says that nothing was written only
 * where no checkpoint was removed since the state was loaded.
 */
export async function whetherApplied(thread: Thread, state: AgentState, conflict: StateError): Promise<StateError> {
  const position: Position | undefined = positionOf(thread.context, state, thread.id);
  // Read after the search for the write: what is removed later would have been found.
  const tail = await thread.tail();
  const isSameThread = position === undefined || tail?.generation === position.tail.generation;
  if (tail === undefined || !isSameThread) return conflict;
  if (editsAt(tail) === (position === undefined ? 0 : editsAt(position.tail))) return conflict;
  const { name } = thread.context.log;
  return new StateError(
    "CONFLICT",
    `${name}: thread ${JSON.stringify(thread.id)} has moved on. An earlier attempt at this save got no answer, and checkpoints were removed since, so it cannot be told whether it was applied. Load the thread, and redo the change only if it is not in it`,
    { ...conflict.context, written: "unknown", cause: conflict },
  );
}
