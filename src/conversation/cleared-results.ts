import { type Message, type ToolMessage, textOf } from "../state/message.ts";

/** Shorter results stay: a note in their place would save nothing. */
const WORTH_CLEARING = 600;

/** Messages do not change: each has one form without its result, and the prompt stays the same object by object. */
const cleared = new WeakMap<Message, ToolMessage>();

/** The message with a note instead of its long result; itself where there is nothing to save. */
export function withoutResult(message: Message): Message {
  if (message.role !== "tool") return message;
  const known = cleared.get(message);
  if (known !== undefined) return known;
  const { length } = textOf(message);
  if (length < WORTH_CLEARING && !holdsFile(message)) return message;
  const note = `[The result of this call, ${length} characters, is left out here to save space. Its outcome was taken into account above. Call the tool again if you need the result itself.]`;
  const { providerMetadata: _, ...kept } = message;
  const shown: ToolMessage = { ...kept, content: note };
  cleared.set(message, shown);
  return shown;
}

const holdsFile = ({ content }: Message): boolean =>
  typeof content !== "string" && content.some((part) => part.type === "file");
