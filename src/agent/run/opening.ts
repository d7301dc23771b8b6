import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { type Message, textOf, type UserMessage } from "../../state/message.ts";
import { pendingIn, unansweredIn } from "../../state/pending.ts";
import type { SignalPart } from "../../state/people/personal-fields.ts";
import { encodeText } from "../../state/values/codec.ts";
import { guardedPrompt } from "../guards.ts";
import { answeredBefore } from "../model-call/output.ts";
import type { RunOptions } from "../run-options.ts";
import { type CompleteOptions, outcomePart, takeAnswer } from "../tool-call/completing.ts";
import { declineQuestions, deniedApproval } from "../tool-call/interrupts.ts";
import { giveUpPending } from "../tool-call/later.ts";
import { goBack } from "./going-back.ts";
import { type Ending, endedByTerminalTool, finishOpenCalls, isAnswered, isEndedBy } from "./loop.ts";
import { takeMail } from "./mail.ts";
import type { RunContext } from "./run-context.ts";
import { askedIn, isRepairRequest, turnOf } from "./turn-number.ts";

/** What begins a run: a message, nothing, or an answer to a question. */
export interface Opening {
  /** Without words there must be something to go on with. */
  readonly needsThread: boolean;
  /** What the user says, if that is what begins it. */
  readonly message?: UserMessage;
  /** The same opening with this id for its message. */
  readonly named?: (id: string) => Opening;
  /**
   * `adopt` gives a state what the run brings along. Not called for a run that is
   * refused: it leaves no trace. Returns how the run ends where there is nothing to do.
   */
  begin(context: RunContext, adopt: (state: AgentState) => AgentState): Promise<Ending | undefined>;
}

/** Settles what the last run left open, then adds the user's words, which become durable while the model is asked. */
async function begin(
  context: RunContext,
  adopt: (state: AgentState) => AgentState,
  message: UserMessage | undefined,
): Promise<Ending | undefined> {
  const { session, mail } = context;
  const place = message === undefined ? -1 : placeOf(session.state, message);
  const consumes = await mail.claim(session.stored, message?.id);
  if (place >= 0) tellTurnSoFar(context, place);
  if (place >= 0 && !isLastTurn(session.state, place)) {
    const answer = answerTo(session.state, place, (said) => isEndedBy(context, said));
    if (answer !== undefined) {
      if (consumes.length > 0) session.change((state) => state.with({}), consumes);
      return answeredBefore(context, answer);
    }
  }
  if (message === undefined || place >= 0) {
    session.change(adopt, consumes);
    if (session.isUnsaved) session.saveBeside();
    else if (!isAnswered(session.state) && !endedByTerminalTool(context)) session.hold().catch(() => undefined);
    return undefined;
  }
  const isWaiting = unansweredIn(session.state).length > 0;
  if (isWaiting || (await finishOpenCalls(context)) === "pending") throw waitsFor(session.state);
  await takeMail(context, { onCancel: "go on" });
  const isRepeated = isSaidAlready(context, message);
  if (isRepeated) tellTurnSoFar(context, session.state.messages.lastIndexOf(askedIn(session.state) as Message));
  session.change((state) => adopt(isRepeated ? state : state.withMessage(message).withUsage({ runs: 1 })), consumes);
  if (session.isUnsaved) session.saveBeside();
  else session.hold().catch(() => undefined);
  return undefined;
}

/** A sender that repeats a message has seen nothing of its turn, or only a part: it gets all of it. */
function tellTurnSoFar({ session, emit }: RunContext, place: number): void {
  const { state } = session;
  const behind = state.messages.slice(place + 1);
  const next = behind.findIndex((message) => message.role === "user" && !isRepairRequest(message));
  const messages = next === -1 ? behind : behind.slice(0, next);
  if (messages.length === 0) return;
  const denied = messages.flatMap((message) =>
    message.role === "tool" && deniedApproval(state, message.toolCallId) !== undefined ? [message.toolCallId] : [],
  );
  const turn = turnOf({ messages: state.messages.slice(0, place + 1) });
  emit({ type: "turn-so-far", turn, messages, denied });
}

function waitsFor(state: AgentState): StateError {
  const pendingIds = pendingIn(state).flatMap(({ id, isInDoubt }) => (isInDoubt ? [] : [id]));
  const what = `the thread waits for an answer to ${pendingIds.join(", ")}: bring it with answer(), complete() or send({ answer }), or give it up with declinePending: true`;
  return new StateError("PENDING", what, { pendingIds });
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

/**
 * The position of this very message in the thread, by its id; -1 if it was not said
 * yet. A sender who repeats it gets the answer to the first.
 */
function placeOf(state: AgentState, { id, content }: UserMessage): number {
  if (id === undefined) return -1;
  const place = state.messages.findIndex((message) => message.role === "user" && message.id === id);
  const said = state.messages[place];
  if (said === undefined || encodeText(said.content, "prompt") === encodeText(content, "prompt")) return place;
  const which = `the message id ${JSON.stringify(id)} was used for other words in this thread`;
  throw new StateError("INVALID_ARGUMENT", `${which}; a new message needs an id of its own`);
}

/**
 * The answer to the message at this place; `undefined` where there is none yet.
 * Words that a run took along, and a turn that was cut short before the user went
 * on, have no answer of their own: it is the next one. `endsTurn` knows tools
 * that end a turn without one.
 */
function answerTo(
  { messages }: AgentState,
  place: number,
  endsTurn: (message: Message) => boolean,
): string | undefined {
  for (const [index, message] of messages.entries()) {
    if (index <= place || message.role !== "assistant") continue;
    if (endsTurn(message)) return textOf(message);
    const next = messages[index + 1];
    const isFinal = (message.toolCalls ?? []).length === 0 && message.incomplete !== true;
    if (isFinal && (next === undefined || !isRepairRequest(next))) return textOf(message);
  }
  return undefined;
}

/** Whether the user has said nothing since: then its turn is the thread's last, and a run continues it. */
const isLastTurn = ({ messages }: AgentState, place: number): boolean =>
  !messages.slice(place + 1).some((message) => message.role === "user" && !isRepairRequest(message));

/** The same words under the id that they were sent under. */
export const saidAs = (opening: Opening, id: string): Opening =>
  opening.message === undefined || opening.message.id === id ? opening : (opening.named?.(id) ?? opening);

/** Words of a user, or without them what was left unfinished. */
export function saying(
  message: UserMessage | undefined,
  terms: { readonly backTo: RunOptions["backTo"]; readonly declines: boolean | string },
): Opening {
  const { backTo, declines } = terms;
  const opening: Opening["begin"] = async (context, adopt) => {
    const { session, parts } = context;
    const heard = message && (await guardedPrompt(context, message));
    if (heard !== undefined && "stopReason" in heard) {
      const consumes = await context.mail.claim(session.stored, message?.id);
      if (consumes.length > 0) session.change((state) => state.with({}), consumes);
      return heard;
    }
    if (backTo !== undefined) await goBack(context, backTo, heard?.id);
    const reason = typeof declines === "string" ? declines : undefined;
    if (declines !== false) {
      const options = { now: parts.now(), maxResultChars: parts.maxResultChars };
      session.change((state) => giveUpPending(declineQuestions(state, reason, options.now), reason, options));
    }
    await takeMail(context, { onCancel: message === undefined ? "stop" : "go on" });
    if (context.stop.signal.aborted) return { stopReason: "cancelled" };
    return begin(context, adopt, heard);
  };
  if (message === undefined) return { needsThread: true, begin: opening };
  return { needsThread: false, begin: opening, message, named: (id) => saying({ ...message, id }, terms) };
}

/** A person's answer to a question. */
export const answering = (part: SignalPart): Opening => ({
  needsThread: true,
  begin: async (context, adopt) => {
    await takeMail(context, { onCancel: "go on" });
    await takeAnswer(context, part);
    context.session.change(adopt);
    if (context.session.isUnsaved) context.session.saveBeside();
    return undefined;
  },
});

/** The outcome of a call whose tool answered "later". */
export const completing = (options: CompleteOptions): Opening => answering(outcomePart(options));

/** Nothing new: what a process that is gone left unfinished. */
export const goingOn = (onNothingLeft: () => void): Opening => ({
  needsThread: true,
  begin: async (context, adopt) => {
    await takeMail(context);
    if (context.stop.signal.aborted) return { stopReason: "cancelled" };
    if (!isAnswered(context.session.state) && !endedByTerminalTool(context)) return begin(context, adopt, undefined);
    onNothingLeft();
    return { stopReason: "complete" };
  },
});
