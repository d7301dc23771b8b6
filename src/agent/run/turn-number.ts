import type { StateFields } from "../../state/fields.ts";
import type { Message } from "../../state/message.ts";
import { ListFact } from "../../state/values/list-lines.ts";
import { isRepairRequest } from "../model-call/repair-request.ts";

interface Turns {
  readonly count: number;
  readonly asked: Message | undefined;
}

const turns = new ListFact<Message, Turns>(
  () => ({ count: 0, asked: undefined }),
  (before, message) =>
    message.role === "user" && !isRepairRequest(message) ? { count: before.count + 1, asked: message } : before,
);

/** How often users said something: which turn of the thread is the last. */
export const turnOf = ({ messages }: Pick<StateFields, "messages">): number => turns.of(messages).fact.count;

/** What a user said last: the message that the turn is about. */
export const askedIn = ({ messages }: Pick<StateFields, "messages">): Message | undefined =>
  turns.of(messages).fact.asked;
