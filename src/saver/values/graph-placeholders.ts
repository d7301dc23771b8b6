import { ERASED, subjectsIn } from "../../state/people/subjects.ts";
import type { JsonObject, JsonValue } from "../../state/values/tags.ts";

type Members<Value> = { readonly [name: string]: Value };

/**
 * What takes the place of a message of a graph: of LangChain's classes, or plain.
 * It has the same role, the same ids and the same calls, so that a transcript
 * stays one that providers accept.
 */
export interface MessageParts {
  readonly subjects: readonly string[] | undefined;
  readonly placeholder: () => JsonObject;
}

const isMembers = (value: unknown): value is Members<unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

const isTexts = (value: unknown): value is string | readonly string[] =>
  typeof value === "string" || (Array.isArray(value) && value.every((each) => typeof each === "string"));

/** Who an object with the fields of a message says that it is about; `undefined` where it says nothing. */
function subjectsOf(fields: Members<unknown>): readonly string[] | undefined {
  for (const name of ["metadata", "additional_kwargs"]) {
    const holder = fields[name];
    if (!isMembers(holder)) continue;
    if (holder["erased"] === true) return [];
    if (isTexts(holder["subject"])) return subjectsIn(holder["subject"]);
  }
  return undefined;
}

/** LangChain's way to write an object of one of its classes down. */
export interface Envelope extends JsonObject {
  readonly lc: number;
  readonly id: readonly string[];
  readonly kwargs: JsonObject;
}

export const isEnvelope = (json: unknown): json is Envelope =>
  isMembers(json) && typeof json["lc"] === "number" && Array.isArray(json["id"]) && isMembers(json["kwargs"]);

/** A message of one of LangChain's classes. */
export function langChainMessage({ id, kwargs, ...rest }: Envelope): MessageParts | undefined {
  if (!/Message(?:Chunk)?$/.test(String(id.at(-1)))) return undefined;
  const kept = keptOf(kwargs, ["id", "tool_call_id", "status", ...("tool_call_id" in kwargs ? ["name"] : [])]);
  const placeholder = (): JsonObject => ({
    ...rest,
    id,
    kwargs: {
      ...kept,
      content: erasedContent(kwargs["content"]),
      additional_kwargs: { erased: true },
      response_metadata: {},
      ...(Array.isArray(kwargs["tool_calls"]) && { tool_calls: bareCalls(kwargs["tool_calls"], "args") }),
    },
  });
  return { subjects: subjectsOf(kwargs), placeholder };
}

/** Whether plain data is a message: an object with a role or a type, and a content. */
export const hasMessageShape = (fields: Members<unknown>): boolean =>
  (typeof fields["role"] === "string" || typeof fields["type"] === "string") && Object.hasOwn(fields, "content");

const KEPT = ["role", "type", "id", "toolCallId", "tool_call_id", "toolName", "isError", "status", "incomplete"];
const KEPT_OF_TOOL = [...KEPT, "name"];
const KEPT_OF_CALL = ["id", "name", "type"];

export function plainMessage(fields: JsonObject): MessageParts {
  const placeholder = (): JsonObject => {
    const calls = ["toolCalls", "tool_calls"].flatMap((name): [string, JsonValue][] => {
      const given = fields[name];
      return Array.isArray(given) ? [[name, bareCalls(given, name === "toolCalls" ? "arguments" : "args")]] : [];
    });
    const erased = { content: erasedContent(fields["content"]), metadata: { erased: true } };
    return { ...keptOf(fields, isTool(fields) ? KEPT_OF_TOOL : KEPT), ...erased, ...Object.fromEntries(calls) };
  };
  return { subjects: subjectsOf(fields), placeholder };
}

const isTool = (fields: object): boolean => "toolCallId" in fields || "tool_call_id" in fields;

const keptOf = <Value>(fields: Members<Value>, names: readonly string[]): Members<Value> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));

const erasedContent = (content: unknown): string =>
  content === "" || (Array.isArray(content) && content.length === 0) ? "" : ERASED;

/** Calls without what they were called with. */
const bareCalls = (calls: readonly unknown[], argumentsName: "args" | "arguments"): JsonValue[] =>
  calls.filter(isMembers).map((call) => {
    const kept = keptOf(call as JsonObject, KEPT_OF_CALL);
    return { ...kept, [argumentsName]: {} };
  });

/** Of objects that LangGraph itself puts into a state: what tells it where to go on. Everything else in them is content. */
export function controlNames(fields: Members<unknown>): ReadonlySet<string> {
  const names = Object.keys(fields);
  const isSend = typeof fields["node"] === "string" && names.every((name) => SEND.has(name)) && names.length > 1;
  if (isSend) return SEND_CONTROL;
  const isInterrupt = names.includes("value") && names.length > 1 && names.every((name) => INTERRUPT.has(name));
  return isInterrupt ? INTERRUPT_CONTROL : NO_NAMES;
}

const SEND: ReadonlySet<string> = new Set(["node", "args", "timeout"]);
const SEND_CONTROL: ReadonlySet<string> = new Set(["node", "timeout"]);
const INTERRUPT: ReadonlySet<string> = new Set(["id", "interrupt_id", "ns", "when", "resumable", "value"]);
const INTERRUPT_CONTROL: ReadonlySet<string> = new Set(["id", "interrupt_id", "ns", "when", "resumable"]);
const NO_NAMES: ReadonlySet<string> = new Set();

/**
 * The members of an object in a graph's state that hold no user's words: what an erasure leaves of a message or a
 * call, and what LangGraph itself notes. Changed, they would be another message, another call.
 */
export function unsaidNames(fields: object): ReadonlySet<string> {
  const members = fields as Members<unknown>;
  if (hasMessageShape(members) || isOfLangChainMessage(fields)) return isTool(fields) ? OF_TOOL : OF_MESSAGE;
  const isCall = typeof members["id"] === "string" && CALLED_WITH.some((each) => Object.hasOwn(fields, each));
  return isCall ? OF_CALL : controlNames(members);
}

/** The same of JSON that LangChain wrote: also what tells it which class to make. */
export const unsaidByLangChain = (fields: object): ReadonlySet<string> =>
  Object.hasOwn(fields, "lc") ? ENVELOPE : unsaidNames(fields);

/**
 * The members of an object that a search does not look into: what tells messages, calls and LangGraph's own objects
 * apart, what LangChain needs to make an object again, and what a model's provider reports.
 */
export function unsearchedIn(fields: object, isLangChains: boolean): ReadonlySet<string> {
  if (isLangChains && Object.hasOwn(fields, "lc")) return ENVELOPE;
  const members = fields as Members<unknown>;
  if (hasMessageShape(members) || isOfLangChainMessage(fields)) return OF_SEARCHED_MESSAGE;
  if (isMessagePart(members)) return OF_MESSAGE_PART;
  const isCall = unsaidNames(fields) === OF_CALL;
  // Which tool was called is searched, as in the threads of agents.
  return isCall ? OF_SEARCHED_CALL : controlNames(members);
}

/** How LangChain and providers write a part of a message's content. */
const isMessagePart = ({ type }: Members<unknown>): boolean => typeof type === "string" && PARTS.has(type);

const PARTS: ReadonlySet<string> = new Set(["text", "reasoning", "image", "image_url", "file", "audio", "video"]);
const OF_MESSAGE_PART: ReadonlySet<string> = new Set(["type", "id"]);
const OF_SEARCHED_CALL: ReadonlySet<string> = new Set(["id", "type"]);

const isOfLangChainMessage = (fields: object): boolean =>
  Object.hasOwn(fields, "content") && Object.hasOwn(fields, "additional_kwargs");

const CALLED_WITH = ["args", "arguments", "function"];
const OF_MESSAGE: ReadonlySet<string> = new Set(KEPT);
const OF_TOOL: ReadonlySet<string> = new Set(KEPT_OF_TOOL);
const OF_CALL: ReadonlySet<string> = new Set(KEPT_OF_CALL);
const OF_SEARCHED_MESSAGE: ReadonlySet<string> = new Set([
  ...KEPT.filter((name) => name !== "toolName"),
  ...["response_metadata", "usage_metadata"],
]);
const ENVELOPE: ReadonlySet<string> = new Set(["lc", "type", "id", "method"]);

/** The same kind of value without anything in it. What holds at most a yes or a no stays. */
export function emptied(json: string | number | boolean | null): string | number | boolean | null {
  if (typeof json === "string") return json === "" ? json : ERASED;
  return typeof json === "number" ? 0 : json;
}

/** The same for the codec's tags; `undefined` for tags that hold nothing. */
export function emptiedTag(tag: string, value: JsonValue): JsonValue | undefined {
  switch (tag) {
    case "date":
      return value === null ? null : "1970-01-01T00:00:00.000Z";
    case "bigint":
      return "0";
    case "bytes":
    case "buffer":
      return "";
    case "regexp":
      return ["erased", ""];
    case "error":
      return [Array.isArray(value) ? String(value[0]) : "Error", ERASED, ""];
    default:
      return undefined;
  }
}
