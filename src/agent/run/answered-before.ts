import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { type Message, textOf, type UserMessage } from "../../state/message.ts";
import { encodeText } from "../../state/values/codec.ts";
import { isRepairRequest } from "../model-call/repair-request.ts";

/**
 * The position of this very message in the thread, by its id; -1 if it was not said
 * yet. A sender who repeats it gets the answer to the first.
 */
export function placeOf(state: AgentState, { id, content }: UserMessage): number {
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
export function answerTo(
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

/** Whether the user has said nothing since: then its turn is the thread's last, and a run goes on with it. */
export const isLastTurn = ({ messages }: AgentState, place: number): boolean =>
  !messages.slice(place + 1).some((message) => message.role === "user" && !isRepairRequest(message));
