import { assertNoWireFault, firstFault, TOOL_NAME, type WireFault } from "./wire-fault.ts";

/** The part of a responses request that its rules are about. */
export interface OpenAIResponsesBody {
  readonly input: readonly OpenAIInputItem[];
  readonly store?: boolean | null;
}

/** A message, a function call, its output, a reasoning item, or a reference to an item of an earlier response. */
export interface OpenAIInputItem {
  readonly type?: string;
  readonly role?: string;
  readonly content?: unknown;
  readonly id?: string;
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly output?: unknown;
  readonly encrypted_content?: string | null;
  readonly summary?: unknown;
}

/** What the provider itself remembers: a validator without it cannot follow references. */
export interface OpenAIItemMemory {
  /** An item of an earlier response that was stored. */
  stored(id: string): OpenAIInputItem | undefined;
  /** The reasoning as it was issued: its sealed content, and the item that it led to. */
  issued(id: string): { readonly encrypted_content: string; readonly next: OpenAIInputItem | undefined } | undefined;
}

const NO_MEMORY: OpenAIItemMemory = { stored: () => undefined, issued: () => undefined };

export function assertValidOpenAIResponsesBody(body: OpenAIResponsesBody, memory: OpenAIItemMemory = NO_MEMORY): void {
  assertNoWireFault("OpenAI (responses)", faultInOpenAIResponsesBody(body, memory));
}

export function faultInOpenAIResponsesBody(
  { input }: OpenAIResponsesBody,
  memory: OpenAIItemMemory = NO_MEMORY,
): WireFault | undefined {
  const missing = input.find((item) => item.type === "item_reference" && memory.stored(item.id ?? "") === undefined);
  if (missing !== undefined) return notFound(missing.id);
  const items = input.map((item) => (item.type === "item_reference" ? (memory.stored(item.id ?? "") ?? item) : item));
  return firstFault(checks(items, memory));
}

function* checks(items: readonly OpenAIInputItem[], memory: OpenAIItemMemory): Generator<WireFault | undefined> {
  if (items.length === 0)
    yield { message: "One of 'input' or 'previous_response_id' must be provided.", param: "input" };
  const ids = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (item.id !== undefined && ids.has(item.id)) {
      yield {
        message: `Duplicate item found with id ${item.id}. Remove duplicate items from your input and try again.`,
      };
    }
    if (item.id !== undefined) ids.add(item.id);
    yield itemFault(item, `input[${index}]`);
    if (item.type === "reasoning") yield reasoningFault(item, items[index + 1], memory);
  }
  yield pairingFault(items);
}

function itemFault(
  { type = "message", role, content, call_id = "", name = "", id }: OpenAIInputItem,
  at: string,
): WireFault | undefined {
  if (
    type === "message" &&
    role === "assistant" &&
    (content === "" || (Array.isArray(content) && content.length === 0))
  ) {
    return { message: `Invalid '${at}.content': empty array. Expected an array with minimum length 1.`, param: at };
  }
  if (type !== "function_call") return undefined;
  if (call_id === "" || call_id.length > 64) {
    return {
      message: `Invalid '${at}.call_id': string too long. Expected a string with maximum length 64.`,
      param: at,
    };
  }
  if (id !== undefined && !id.startsWith("fc")) {
    return { message: `Invalid '${at}.id': '${id}'. Expected an ID that begins with 'fc'.`, param: at };
  }
  return TOOL_NAME.test(name)
    ? undefined
    : { message: `Invalid '${at}.name': string does not match pattern.`, param: at };
}

function reasoningFault(
  { id = "", encrypted_content }: OpenAIInputItem,
  next: OpenAIInputItem | undefined,
  memory: OpenAIItemMemory,
): WireFault | undefined {
  const issued = memory.issued(id);
  if (memory.stored(id) === undefined) {
    if (encrypted_content === undefined || encrypted_content === null) return notFound(id);
    if (issued !== undefined && issued.encrypted_content !== encrypted_content) {
      return { message: `The encrypted content for item ${id} could not be verified.` };
    }
  }
  const follows = next !== undefined && (next.type ?? "message") !== "function_call_output" && next.role !== "user";
  if (follows && (issued?.next === undefined || isSame(issued.next, next))) return undefined;
  return { message: `Item '${id}' of type 'reasoning' was provided without its required following item.` };
}

function isSame(issued: OpenAIInputItem, given: OpenAIInputItem): boolean {
  if ((issued.type ?? "message") !== (given.type ?? "message")) return false;
  return issued.type === "function_call" ? issued.call_id === given.call_id : true;
}

function pairingFault(items: readonly OpenAIInputItem[]): WireFault | undefined {
  const open = new Set<string>();
  for (const { type, call_id = "" } of items) {
    if (type === "function_call") {
      if (open.has(call_id))
        return { message: `Duplicate function call found with call_id ${call_id}.`, param: "input" };
      open.add(call_id);
    } else if (type === "function_call_output" && !open.delete(call_id)) {
      return { message: `No tool call found for function call output with call_id ${call_id}.`, param: "input" };
    }
  }
  const [first] = open;
  return first === undefined
    ? undefined
    : { message: `No tool output found for function call ${first}.`, param: "input" };
}

const notFound = (id = ""): WireFault => ({
  status: 404,
  message: `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`,
  param: "input",
});
