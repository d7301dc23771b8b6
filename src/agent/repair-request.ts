import { type Message, type UserMessage, userMessage } from "../state/message.ts";

/** Marks what the agent itself said to the model, for those who show the conversation to people. */
const MARK = "holdfast.repair";

export const repairRequest = (text: string): UserMessage => userMessage(text, { metadata: { [MARK]: true } });

export const isRepairRequest = (message: Message): boolean => message.metadata?.[MARK] === true;
