import { described } from "../internal/known-options.ts";
import { type UserMessage, userMessage } from "./message.ts";

/** A text, parts, or a message of the user's, as a message. */
export function asUserMessage(
  prompt: string | UserMessage["content"] | UserMessage,
  where: "run()" | "send()" = "run()",
): UserMessage {
  assertPrompt(prompt, where);
  if (typeof prompt === "string" || Array.isArray(prompt)) return userMessage(prompt);
  return prompt as UserMessage;
}

function assertPrompt(prompt: unknown, where: string): void {
  const content = contentOf(prompt, where);
  if (Array.isArray(content)) assertParts(content, where);
  else if (typeof content !== "string") {
    throw new TypeError(
      `${where}: the content of a user's message is a text or a list of parts, not ${described(content)}`,
    );
  }
}

function contentOf(prompt: unknown, where: string): unknown {
  if (typeof prompt === "string" || Array.isArray(prompt)) return prompt;
  const { role, content } = (typeof prompt === "object" && prompt !== null ? prompt : {}) as Partial<UserMessage>;
  if (role === "user") return content;
  throw new TypeError(
    `${where} takes ${where === "run()" ? "the prompt first" : "a message"}: a text, a list of parts or a userMessage(), not ${described(prompt)}. ` +
      (where === "run()"
        ? "Write agent.run(prompt, { threadId }), or agent.run(undefined, { threadId }) to finish what was begun"
        : "Write send({ message: prompt })"),
  );
}

function assertParts(parts: readonly unknown[], where: string): void {
  if (parts.length === 0) throw new TypeError(`${where}: the list of parts is empty: the prompt says nothing`);
  for (const [index, part] of parts.entries()) {
    const fault = faultInPart(part, where);
    if (fault !== undefined) throw new TypeError(`${where}: part ${index} of the prompt ${fault}`);
  }
}

const PARTS = '{ type: "text", text } or { type: "file", mediaType, data }';

function faultInPart(part: unknown, where: string): string | undefined {
  if (typeof part !== "object" || part === null) return `is ${described(part)}. Write ${PARTS}`;
  const { role, type, text, mediaType, data } = part as Readonly<Record<string, unknown>>;
  if (role !== undefined) {
    return (
      `is a message. ${where} takes what the user says now: the thread holds what was said before. ` +
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

/** Gives the message its id. */
export function withId(message: UserMessage, id: string | undefined): UserMessage {
  if (id === undefined || message.id === id) return message;
  if (message.id === undefined) return { ...message, id };
  throw new TypeError(`two ids were given for one message: ${JSON.stringify(id)}, and the message's own`);
}
