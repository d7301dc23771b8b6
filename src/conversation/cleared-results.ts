import { READ_RESULT } from "../agent/tool-call/tool-result.ts";
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
  const text = textOf(message);
  if (text.length < WORTH_CLEARING && !holdsFile(message)) return message;
  const note = `[The result of this call is left out here to save space; it was taken into account already. ${wayBack(message, text)}]`;
  const { providerMetadata: _, ...kept } = message;
  const shown: ToolMessage = { ...kept, content: note };
  cleared.set(message, shown);
  return shown;
}

/** A result that was too large for a message is kept beside the conversation, by the name of its call. */
function wayBack({ toolCallId }: ToolMessage, text: string): string {
  const name = JSON.stringify(toolCallId);
  return text.includes(`${READ_RESULT}({"name": ${name}`)
    ? `Read it again with ${READ_RESULT}({"name": ${name}, "from": 0}).`
    : "Call the tool again if you need it.";
}

const holdsFile = ({ content }: Message): boolean =>
  typeof content !== "string" && content.some((part) => part.type === "file");
