import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { UserMessage } from "../../state/message.ts";
import { encodeText } from "../../state/values/codec.ts";
import { answeredBefore } from "../model-call/output.ts";
import { pendingInterrupts } from "../tool-call/interrupts.ts";
import { pendingCalls } from "../tool-call/later.ts";
import { answerTo, isLastTurn, placeOf } from "./answered-before.ts";
import { type Ending, endedByTerminalTool, finishOpenCalls, isAnswered, isEndedBy } from "./loop.ts";
import type { RunContext } from "./run-context.ts";
import { askedIn } from "./turn-number.ts";

/** What begins a run: a message, nothing, or an answer to a question. */
export interface Opening {
  /** Without words there must be something to go on with. */
  readonly needsThread: boolean;
  /** What the user says, if that is what begins it. */
  readonly message?: UserMessage;
  /**
   * `adopt` gives a state what the run brings along. Not called for a run that is
   * refused: it leaves no trace. Returns how the run ends where there is nothing to do.
   */
  begin(context: RunContext, adopt: (state: AgentState) => AgentState): Promise<Ending | undefined>;
}

/** Settles what the last run left open, then adds the user's words, which become durable while the model is asked. */
export async function begin(
  context: RunContext,
  adopt: (state: AgentState) => AgentState,
  message: UserMessage | undefined,
): Promise<Ending | undefined> {
  const { session } = context;
  const place = message === undefined ? -1 : placeOf(session.state, message);
  if (place >= 0 && !isLastTurn(session.state, place)) {
    const answer = answerTo(session.state, place, (said) => isEndedBy(context, said));
    if (answer !== undefined) return answeredBefore(context, answer);
  }
  if (message === undefined || place >= 0) {
    session.change(adopt);
    if (session.isUnsaved) session.saveBeside();
    else if (!isAnswered(session.state) && !endedByTerminalTool(context)) session.hold().catch(() => undefined);
    return undefined;
  }
  const waiting = pendingInterrupts(session.state);
  const left = waiting.length > 0 ? "interrupted" : await finishOpenCalls(context);
  if (left === "interrupted") {
    const interruptIds = pendingInterrupts(session.state).map(({ id }) => id);
    const which = interruptIds.join(", ");
    const what = `the thread waits for an answer to ${which}; call resume() first, or decline it with declineWaiting: true`;
    throw new StateError("INTERRUPTED", what, { interruptIds });
  }
  if (left === "pending") {
    const which = pendingCalls(session.state).map(({ toolCallId }) => toolCallId);
    const what = `the thread waits until ${which.join(", ")} is completed; call complete() first, or give it up with declineWaiting: true`;
    throw new StateError("INTERRUPTED", what, { interruptIds: [] });
  }
  const isRepeated = isSaidAlready(context, message);
  session.change((state) => adopt(isRepeated ? state : state.withMessage(message).withUsage({ runs: 1 })));
  if (session.isUnsaved) session.saveBeside();
  else session.hold().catch(() => undefined);
  return undefined;
}

/** The same message, and its turn is not over: a failed run is repeated. */
function isSaidAlready(context: RunContext, message: UserMessage): boolean {
  const { state } = context.session;
  if (isAnswered(state) || endedByTerminalTool(context)) return false;
  const last = askedIn(state);
  if (last === undefined || (message.id !== undefined && last.id !== message.id)) return false;
  return encodeText(last.content, "prompt") === encodeText(message.content, "prompt");
}

export const nothingToResume = (threadId: string | undefined): StateError =>
  threadId === undefined
    ? new StateError("INVALID_ARGUMENT", "a run needs a prompt, or the threadId of a thread to go on with")
    : new StateError("NOT_FOUND", `thread ${JSON.stringify(threadId)} is not there to go on with; give a prompt`, {
        threadId,
      });
