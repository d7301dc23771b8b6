import { type AssistantMessage, type Message, type ToolMessage, textOf, toolMessage } from "../state/message.ts";

/**
 * What a provider receives. Whatever a crash, an edit or an import left behind,
 * the result keeps the rules that all of them enforce: every tool call has
 * exactly one result, right behind the message that made the call; no result
 * without a call; no message without content; one system message, at the start.
 * The stored conversation is not touched. Repairing twice changes nothing more.
 */
export function repairHistory(messages: readonly Message[]): readonly Message[] {
  const repaired: Message[] = [];
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (message === undefined || message.role === "tool" || message.role === "system") continue;
    if (message.role === "assistant") {
      const results = resultsBehind(messages, index);
      const kept = withUsableCalls(message);
      if (kept !== undefined) repaired.push(kept, ...answersTo(kept, results));
    } else if (hasContent(message)) repaired.push(message);
  }
  const system = joinedSystem(messages);
  return system === undefined ? repaired : [system, ...repaired];
}

/** Tool messages up to the model's next turn: a result may have been stored after a user's message that came in between. */
function resultsBehind(messages: readonly Message[], from: number): readonly ToolMessage[] {
  const results: ToolMessage[] = [];
  for (const message of messages.slice(from + 1)) {
    if (message.role === "assistant") break;
    if (message.role === "tool") results.push(message);
  }
  return results;
}

/** The message without calls that share an id, or nothing when it would be empty. */
function withUsableCalls(message: AssistantMessage): AssistantMessage | undefined {
  const calls = message.toolCalls ?? [];
  const unique = calls.filter((call, index) => calls.findIndex((other) => other.id === call.id) === index);
  if (unique.length === 0 && !hasContent(message)) return undefined;
  if (unique.length === calls.length) return message;
  return { ...message, toolCalls: unique };
}

function answersTo(message: AssistantMessage, results: readonly ToolMessage[]): ToolMessage[] {
  return (message.toolCalls ?? []).map(
    (call) =>
      results.find((result) => result.toolCallId === call.id) ??
      toolMessage(
        "No result of this call was recorded. It may or may not have taken effect; verify before repeating it.",
        {
          toolCallId: call.id,
          toolName: call.name,
          isError: true,
        },
      ),
  );
}

function joinedSystem(messages: readonly Message[]): Message | undefined {
  const system = messages.filter((message) => message.role === "system" && hasContent(message));
  const [first, ...others] = system;
  if (first === undefined || others.length === 0) return first;
  return { role: "system", content: system.map(textOf).join("\n\n") };
}

const hasContent = (message: Message): boolean =>
  typeof message.content === "string" ? message.content.trim() !== "" : message.content.length > 0;
