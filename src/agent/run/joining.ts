import type { UserMessage } from "../../state/message.ts";
import type { RunEvent, RunResult } from "../events.ts";
import { Overtaken } from "./only-writer.ts";
import { currentTurn, type Turn } from "./turns.ts";

/**
 * Says something to the run that is under way on the thread in this process. The
 * run takes the words along when it asks the model the next time, and its result
 * is theirs. `undefined` where there is no such run, or it ends before that.
 */
export async function joinRun(
  checkpointer: object,
  threadId: string,
  message: UserMessage,
  emit: (event: RunEvent) => void,
): Promise<RunResult | undefined> {
  const turn = currentTurn(checkpointer, threadId);
  if (turn?.inbox === undefined) return undefined;
  turn.listeners.add(emit);
  const isTaken = await turn.inbox.add(message);
  if (isTaken) {
    try {
      return await turn.result;
    } catch (error) {
      // The run begins again, without these messages.
      if (!(error instanceof Overtaken)) throw error;
    }
  }
  turn.listeners.delete(emit);
  return undefined;
}

/** Shows a run's events also to those whose words it takes along. */
export const heardBy =
  (turn: Turn | undefined, emit: (event: RunEvent) => void) =>
  (event: RunEvent): void => {
    emit(event);
    for (const listener of turn?.listeners ?? []) listener(event);
  };
