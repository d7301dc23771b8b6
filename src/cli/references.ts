import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import { StateError } from "../errors.ts";
import type { AgentState } from "../state/agent-state.ts";
import { UsageError } from "./exit-codes.ts";

/** A checkpoint that is there, of an agent's or a graph's thread. */
export interface FoundPlace {
  readonly threadId: string;
  readonly checkpointId: string;
}

/** A state and where it is. */
export interface FoundState extends FoundPlace {
  readonly state: AgentState;
}

export const missingThread = (threadId: string): StateError =>
  new StateError("NOT_FOUND", `there is no thread ${JSON.stringify(threadId)}`, { threadId });

const missingCheckpoint = (threadId: string, checkpointId: string): StateError => {
  const which = `thread ${JSON.stringify(threadId)} has no checkpoint ${JSON.stringify(checkpointId)}`;
  return new StateError("NOT_FOUND", which, { threadId, checkpointId });
};

const MOST_BACK = 1000;

/** The id of a checkpoint that was named by its id, or counted from the newest: `@0`, `@-1`. */
export async function checkpointIdOf(
  checkpointer: Checkpointer,
  threadId: string,
  ref: string | undefined,
): Promise<string> {
  const [, digits] = /^@-?(\d{1,4})$/.exec(ref ?? "@0") ?? [];
  if (digits === undefined) {
    if (ref?.startsWith("@") === true)
      throw new UsageError(`${ref} is no place in a thread`, "@-1 is one before the newest");
    return ref ?? "";
  }
  const back = Number(digits);
  if (back > MOST_BACK) throw new UsageError(`@-${back} is too far back; name the checkpoint by its id`);
  const found = await checkpointer.listCheckpoints(threadId, { limit: back + 1 });
  const wanted = found[back];
  if (wanted !== undefined) return wanted.checkpointId;
  if (found.length === 0) throw missingThread(threadId);
  throw missingCheckpoint(threadId, `@-${back}`);
}

export async function stateOf(
  checkpointer: Checkpointer,
  threadId: string,
  ref: string | undefined,
): Promise<FoundState> {
  const checkpointId = await checkpointIdOf(checkpointer, threadId, ref);
  const state = await checkpointer.load(threadId, { checkpointId });
  if (state !== undefined) return { threadId, checkpointId, state };
  throw (await checkpointer.exists(threadId)) ? missingCheckpoint(threadId, checkpointId) : missingThread(threadId);
}

export async function placeOf(
  checkpointer: Checkpointer,
  threadId: string,
  ref: string | undefined,
): Promise<FoundPlace> {
  const checkpointId = await checkpointIdOf(checkpointer, threadId, ref);
  const isCounted = ref === undefined || ref.startsWith("@");
  if (isCounted || (await checkpointer.exists(threadId, checkpointId))) return { threadId, checkpointId };
  throw (await checkpointer.exists(threadId)) ? missingCheckpoint(threadId, checkpointId) : missingThread(threadId);
}

/** `thread` or `thread@checkpoint`. A thread whose own id has an @ is found first. */
export async function placeNamed(checkpointer: Checkpointer, text: string): Promise<FoundPlace> {
  const at = text.lastIndexOf("@");
  if (at < 1 || (await checkpointer.exists(text))) return placeOf(checkpointer, text, undefined);
  const ref = text.slice(at + 1);
  return placeOf(checkpointer, text.slice(0, at), /^-?\d{1,4}$/.test(ref) ? `@${ref}` : ref);
}
