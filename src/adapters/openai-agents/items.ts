import { assistantMessage, type Message, toolMessage, userMessage } from "../../state/message.ts";
import { isPlainObject } from "../../state/values/doorway.ts";

/** An item of a conversation in the OpenAI Agents SDK, taken by its shape. */
export type AgentsItem = { readonly [field: string]: unknown };

/** Where an item is kept whole when our own form does not say all that is in it. */
const WHOLE = "openai-agents";

/** One message for each item: readable and searchable like any other, and back again without a loss. */
export function messageOf(item: AgentsItem): Message {
  const message = readable(item);
  if (process.getBuiltinModule("node:util").isDeepStrictEqual(plainItemOf(message), item)) return message;
  return { ...message, metadata: { [WHOLE]: item } };
}

export function itemOf(message: Message): AgentsItem {
  const whole: unknown = message.metadata?.[WHOLE];
  return isPlainObject(whole) ? structuredClone(whole) : (plainItemOf(message) ?? otherItemOf(message));
}

function readable(item: AgentsItem): Message {
  const { type, role } = item;
  if (type === "function_call") {
    const { callId, name, arguments: input } = item;
    return assistantMessage("", { toolCalls: [{ id: String(callId), name: String(name), arguments: parsed(input) }] });
  }
  if (type === "function_call_result") {
    return toolMessage(textIn(item["output"]), {
      toolCallId: String(item["callId"]),
      toolName: String(item["name"]),
    });
  }
  const text = textIn(item["content"]);
  if (role === "user") return userMessage(text);
  if (role === "system") return { role: "system", content: text };
  return assistantMessage(text);
}

/** The commonest items, which need nothing beside the message. */
function plainItemOf(message: Message): AgentsItem | undefined {
  const { content } = message;
  if (typeof content !== "string") return undefined;
  if (message.role === "user") return { type: "message", role: "user", content };
  if (message.role === "system") return { type: "message", role: "system", content };
  if (message.role === "tool") {
    const { toolCallId, toolName } = message;
    return {
      type: "function_call_result",
      name: toolName,
      callId: toolCallId,
      status: "completed",
      output: { type: "text", text: content },
    };
  }
  const [call] = message.toolCalls ?? [];
  if (call === undefined) {
    return {
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: content }],
    };
  }
  const { id: callId, name } = call;
  return { type: "function_call", callId, name, status: "completed", arguments: JSON.stringify(call.arguments) };
}

/** A message that another program put into the thread, as far as it has words. */
function otherItemOf(message: Message): AgentsItem {
  const text = textIn(message.content);
  return message.role === "assistant"
    ? { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] }
    : { type: "message", role: "user", content: text };
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (isPlainObject(content)) return typeof content["text"] === "string" ? content["text"] : "";
  if (!Array.isArray(content)) return "";
  return content
    .map(textIn)
    .filter((text) => text !== "")
    .join("\n");
}

function parsed(input: unknown): unknown {
  try {
    return JSON.parse(String(input));
  } catch {
    return { unreadable: String(input) };
  }
}
