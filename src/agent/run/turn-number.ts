import type { StateFields } from "../../state/fields.ts";
import { ListFact } from "../../state/growing-list.ts";
import { type Message, type UserMessage, userMessage } from "../../state/message.ts";

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

/** Marks what the agent itself said to the model, so that a page can leave it out. */
const MARK = "holdfast.repair";

/** `about` says who the turn is about: the request quotes what was said in it. */
export const repairRequest = (text: string, about: { readonly subject: unknown } | undefined): UserMessage =>
  userMessage(text, { metadata: { [MARK]: true, ...about } });

export const isRepairRequest = (message: Message): boolean => message.metadata?.[MARK] === true;
