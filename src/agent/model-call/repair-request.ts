import { type Message, type UserMessage, userMessage } from "../../state/message.ts";

/** Marks what the agent itself said to the model, for those who show the conversation to people. */
const MARK = "holdfast.repair";

/** `about` says who the turn is about: the request quotes what was said in it. */
export const repairRequest = (text: string, about: { readonly subject: unknown } | undefined): UserMessage =>
  userMessage(text, { metadata: { [MARK]: true, ...about } });

export const isRepairRequest = (message: Message): boolean => message.metadata?.[MARK] === true;
