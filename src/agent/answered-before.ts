import { StateError } from "../errors.ts";
import type { AgentState } from "../state/agent-state.ts";
import { encodeText } from "../state/codec.ts";
import { type Message, textOf, type UserMessage } from "../state/message.ts";
import { isRepairRequest } from "./repair-request.ts";

/**
 * Where this very message, by its id, stands in the thread; -1 where it was not
 * said yet. Whoever sends it a second time gets the answer to the first.
 */
export function placeOf(state: AgentState, { id, content }: UserMessage): number {
  if (id === undefined) return -1;
  const place = state.messages.findIndex((message) => message.role === "user" && message.id === id);
  const said = state.messages[place];
  if (said === undefined || encodeText(said.content, "prompt") === encodeText(content, "prompt")) return place;
  const which = `the message id ${JSON.stringify(id)} was used for other words in this thread`;
  throw new StateError("INVALID_ARGUMENT", `${which}; a new message needs an id of its own`);
}

const isUsers = (message: Message): boolean => message.role === "user" && !isRepairRequest(message);

/** Whether the user has said nothing since: then its turn is the thread's last, and a run goes on with it. */
export const isLastTurn = ({ messages }: AgentState, place: number): boolean =>
  !messages.slice(place + 1).some(isUsers);

/** The answer to an earlier message. Words that a run took along while it was under way have no answer of their own: it is the next one. */
export function answerTo({ messages }: AgentState, place: number): string {
  let last: Message | undefined;
  for (const message of messages.slice(place + 1)) {
    if (isUsers(message) && last !== undefined) break;
    if (message.role === "assistant") last = message;
  }
  return last === undefined ? "" : textOf(last);
}
