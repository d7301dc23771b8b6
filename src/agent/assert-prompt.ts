import { described } from "../internal/known-options.ts";
import { type UserMessage, userMessage } from "../state/message.ts";

/** A text, parts, or a message of the user's, as a message. */
export function asUserMessage(prompt: string | UserMessage["content"] | UserMessage): UserMessage {
  assertPrompt(prompt);
  if (typeof prompt === "string" || Array.isArray(prompt)) return userMessage(prompt);
  return prompt as UserMessage;
}

function assertPrompt(prompt: unknown): void {
  const content = contentOf(prompt);
  if (Array.isArray(content)) assertParts(content);
  else if (typeof content !== "string") {
    throw new TypeError(
      `run(): the content of a user's message is a text or a list of parts, not ${described(content)}`,
    );
  }
}

function contentOf(prompt: unknown): unknown {
  if (typeof prompt === "string" || Array.isArray(prompt)) return prompt;
  const { role, content } = (typeof prompt === "object" && prompt !== null ? prompt : {}) as Partial<UserMessage>;
  if (role === "user") return content;
  throw new TypeError(
    `run() takes the prompt first: a text, a list of parts or a userMessage(), not ${described(prompt)}. ` +
      "Write agent.run(prompt, { threadId }), or agent.run(undefined, { threadId }) to finish what was begun",
  );
}

function assertParts(parts: readonly unknown[]): void {
  if (parts.length === 0) throw new TypeError("run(): the list of parts is empty: the prompt says nothing");
  for (const [index, part] of parts.entries()) {
    const fault = faultInPart(part);
    if (fault !== undefined) throw new TypeError(`run(): part ${index} of the prompt ${fault}`);
  }
}

const PARTS = '{ type: "text", text } or { type: "file", mediaType, data }';

function faultInPart(part: unknown): string | undefined {
  if (typeof part !== "object" || part === null) return `is ${described(part)}. Write ${PARTS}`;
  const { role, type, text, mediaType, data } = part as Readonly<Record<string, unknown>>;
  if (role !== undefined) {
    return (
      "is a message. run() takes what the user says now: the thread holds what was said before. " +
      "Give the last message's content; to begin with a conversation, save it first: " +
      "checkpointer.save(AgentState.create({ messages }), threadId)"
    );
  }
  if (type === "text") return typeof text === "string" ? undefined : `has a text that is ${described(text)}`;
  if (type !== "file") return `is of type ${JSON.stringify(type)}. Write ${PARTS}`;
  if (typeof mediaType !== "string") return `has a mediaType that is ${described(mediaType)}. Write "image/png"`;
  const isFile = data instanceof Uint8Array || typeof (data as { url?: unknown } | undefined)?.url === "string";
  return isFile ? undefined : "has no data that can be read. Give the bytes, a Uint8Array, or { url }";
}

/** Names what is said. */
export function withId(message: UserMessage, id: string | undefined): UserMessage {
  if (id === undefined || message.id === id) return message;
  if (message.id === undefined) return { ...message, id };
  throw new TypeError("run() was given two ids for one message: messageId, and the message's own id");
}
