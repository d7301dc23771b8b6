import type { AssistantMessage, Message } from "../../state/message.ts";

/**
 * The rules by which providers refuse a whole conversation, applied to messages
 * in our format. What passes here is accepted by the provider once an adapter has
 * translated it; the fakes of providers in the tests have the same rules for what goes over the wire.
 */
export function assertValidForOpenAI(messages: readonly Message[]): void {
  assertNoFault("OpenAI", messages, [faultInOrder, faultInContent, faultInPairs, faultInNames]);
}

export function assertValidForAnthropic(messages: readonly Message[]): void {
  assertNoFault("Anthropic", messages, [
    faultInOrder,
    faultInFirst,
    faultInContent,
    faultInPairs,
    faultInNames,
    faultInArguments,
  ]);
}

/** The rules of Gemini are those of Anthropic, by other words: calls and results in equal number, turn by turn. */
export function assertValidForGemini(messages: readonly Message[]): void {
  assertNoFault("Gemini", messages, [
    faultInOrder,
    faultInFirst,
    faultInContent,
    faultInPairs,
    faultInNames,
    faultInArguments,
  ]);
}

type Check = (messages: readonly Message[]) => string | undefined;

function assertNoFault(provider: string, messages: readonly Message[], checks: readonly Check[]): void {
  for (const check of checks) {
    const fault = check(messages);
    if (fault === undefined) continue;
    // Not imported: programs that import a model for their tests would wait for it, and most find no fault.
    const { AssertionError } = process.getBuiltinModule("node:assert");
    throw new AssertionError({ message: `not valid for ${provider}: ${fault}` });
  }
}

function faultInOrder(messages: readonly Message[]): string | undefined {
  if (!messages.some(({ role }) => role !== "system")) return "there is no message but the system's";
  const late = messages.findIndex(({ role }, index) => role === "system" && index > 0);
  return late === -1 ? undefined : `messages[${late}]: a system message stands only at the start, once`;
}

function faultInFirst(messages: readonly Message[]): string | undefined {
  const first = messages.findIndex(({ role }) => role !== "system");
  const role = messages[first]?.role;
  return role === "user" ? undefined : `messages[${first}]: the first message must be the user's, not the ${role}'s`;
}

function faultInContent(messages: readonly Message[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") continue;
    const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
    if (calls.length === 0 && !saysSomething(message))
      return `messages[${index}]: the ${message.role} message is empty`;
  }
  return undefined;
}

/** Thought alone does not count: a message that has nothing else was cut off before its answer came. */
const saysSomething = ({ content }: Message): boolean =>
  typeof content === "string"
    ? content.trim() !== ""
    : content.some((part) => part.type === "file" || (part.type === "text" && part.text.trim() !== ""));

/** Every call answered exactly once, right behind its message; no answer without a call; no id used twice. */
function faultInPairs(messages: readonly Message[]): string | undefined {
  const made = new Set<string>();
  const answered = new Set<string>();
  let open = new Map<string, string>();
  let caller = 0;
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      const { toolCallId: id, toolName } = message;
      const name = open.get(id);
      if (name === undefined) {
        const why = answered.has(id) ? "a second result" : "a result that no call right before it asked for";
        return `messages[${index}]: ${why}: ${JSON.stringify(id)}`;
      }
      if (name !== toolName) return `messages[${index}]: the result is of ${toolName}, the call ${id} was of ${name}`;
      open.delete(id);
      answered.add(id);
    } else if (open.size > 0) return withoutResult(caller, open);
    else if (message.role === "assistant") {
      const fault = faultInIds(message, index, made);
      if (fault !== undefined) return fault;
      open = new Map((message.toolCalls ?? []).map((call) => [call.id, call.name]));
      caller = index;
    }
  }
  return open.size > 0 ? withoutResult(caller, open) : undefined;
}

function faultInIds({ toolCalls = [] }: AssistantMessage, index: number, made: Set<string>): string | undefined {
  for (const { id } of toolCalls) {
    if (id === "") return `messages[${index}]: a tool call has an empty id`;
    if (made.has(id)) return `messages[${index}]: the tool call id ${JSON.stringify(id)} was used before`;
    made.add(id);
  }
  return undefined;
}

const withoutResult = (index: number, open: ReadonlyMap<string, string>): string =>
  `messages[${index}]: no result right behind it for the calls ${[...open.keys()].map((id) => JSON.stringify(id)).join(", ")}`;

function faultInNames(messages: readonly Message[]): string | undefined {
  return faultInCalls(messages, ({ name }) =>
    /^[a-zA-Z0-9_-]{1,64}$/.test(name) ? undefined : `the tool's name ${JSON.stringify(name)} is not accepted`,
  );
}

function faultInArguments(messages: readonly Message[]): string | undefined {
  return faultInCalls(messages, ({ id, arguments: input }) =>
    typeof input === "object" && input !== null && !Array.isArray(input)
      ? undefined
      : `the arguments of the call ${id} must be an object`,
  );
}

function faultInCalls(
  messages: readonly Message[],
  check: (call: NonNullable<AssistantMessage["toolCalls"]>[number]) => string | undefined,
): string | undefined {
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    for (const call of message.toolCalls ?? []) {
      const fault = check(call);
      if (fault !== undefined) return `messages[${index}]: ${fault}`;
    }
  }
  return undefined;
}
