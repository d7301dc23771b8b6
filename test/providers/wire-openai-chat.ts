import { assertNoWireFault, firstFault, TOOL_NAME, type WireFault } from "./wire-fault.ts";

/** The part of a chat completions request that its rules are about. */
export interface OpenAIChatBody {
  readonly messages: readonly OpenAIChatMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly tool_choice?: unknown;
}

export interface OpenAIChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

export function assertValidOpenAIChatBody(body: OpenAIChatBody): void {
  assertNoWireFault("OpenAI (chat completions)", faultInOpenAIChatBody(body));
}

export function faultInOpenAIChatBody(body: OpenAIChatBody): WireFault | undefined {
  return firstFault(checks(body));
}

const ROLES: ReadonlySet<string> = new Set(["system", "developer", "user", "assistant", "tool"]);

function* checks({ messages, tools, tool_choice }: OpenAIChatBody): Generator<WireFault | undefined> {
  if (messages.length === 0) yield { message: "[] is too short - 'messages'", param: "messages" };
  if (tools?.length === 0) yield { message: "[] is too short - 'tools'", param: "tools" };
  if (tool_choice !== undefined && tools === undefined) {
    yield { message: "'tool_choice' is only allowed when 'tools' are specified.", param: "tool_choice" };
  }
  for (const [index, message] of messages.entries()) yield messageFault(message, index);
  yield pairingFault(messages);
}

function messageFault({ role, content, tool_calls }: OpenAIChatMessage, index: number): WireFault | undefined {
  const param = `messages.[${index}]`;
  if (!ROLES.has(role)) return { message: `Invalid value: '${role}'.`, param: `${param}.role` };
  if (tool_calls?.length === 0) return { message: `[] is too short - '${param}.tool_calls'`, param };
  const isEmpty = content === undefined || content === null || content === "";
  if (isEmpty && tool_calls === undefined && role !== "tool") {
    return { message: `Invalid value for 'content': expected a string, got ${JSON.stringify(content)}.`, param };
  }
  for (const call of tool_calls ?? []) {
    if (call.id === "" || call.id.length > 40) {
      return { message: `Invalid '${param}.tool_calls.id': 1 to 40 characters are expected.`, param };
    }
    if (!TOOL_NAME.test(call.function.name)) {
      return { message: `Invalid '${param}.tool_calls.function.name': string does not match pattern.`, param };
    }
  }
  return undefined;
}

function pairingFault(messages: readonly OpenAIChatMessage[]): WireFault | undefined {
  let open = new Set<string>();
  for (const [index, { role, tool_call_id = "", tool_calls = [] }] of messages.entries()) {
    const param = `messages.[${index}].role`;
    if (role === "tool") {
      if (open.delete(tool_call_id)) continue;
      return {
        message:
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        param,
      };
    }
    if (open.size > 0) return unanswered(open, param);
    open = new Set(tool_calls.map(({ id }) => id));
    if (open.size < tool_calls.length) return { message: "Duplicate value for 'tool_call_id'", param };
  }
  return open.size > 0 ? unanswered(open, `messages.[${messages.length}].role`) : undefined;
}

const unanswered = (open: ReadonlySet<string>, param: string): WireFault => ({
  message:
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    `The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
  param,
});
