import { reasonOf } from "../../errors.ts";
import { described } from "../../internal/known-options.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { ToolExecution } from "../../state/fields.ts";
import {
  type ContentPart,
  type FilePart,
  type TextPart,
  type ToolCall,
  type ToolMessage,
  textOf,
  toolMessage,
} from "../../state/message.ts";
import { subjectOfTurn } from "../../state/people/subjects.ts";
import type { ThreadUsage } from "./sub-agent.ts";
import { type Tool, tool } from "./tool.ts";

/** How a call ended. */
export interface Outcome {
  readonly status: "succeeded" | "failed" | "unknown" | "denied";
  /** What the model is told. */
  readonly content: string | readonly ContentPart[];
  /** What the tool gave besides, as a value: kept with the message. */
  readonly structured?: unknown;
  /** What the tool returned, as it is: for the event, which is all that shows it. */
  readonly returned?: unknown;
  /** What a sub-agent's thread used in all, to be counted with the call. */
  readonly used?: ThreadUsage;
  /** The request for approval that a person refused. */
  readonly approvalId?: string;
}

/** What a tool returns that is more than text: pictures, sounds, documents. Made by `toolContent`; data cannot be one. */
export class ToolContent {
  readonly parts: readonly ContentPart[];
  readonly structured: unknown;

  constructor(parts: readonly ContentPart[], structured: unknown) {
    this.parts = parts;
    this.structured = structured;
  }
}

/** A result of several parts, for a tool to return. `structured` is kept beside them, as the message's metadata. */
export function toolContent(parts: readonly (TextPart | FilePart)[], structured?: unknown): ToolContent {
  const isPart = (part: unknown): boolean =>
    ["text", "file"].includes(String((part as { type?: unknown } | null)?.type));
  if (!Array.isArray(parts) || !parts.every(isPart)) {
    throw new TypeError('toolContent() takes a list of { type: "text", text } and { type: "file", mediaType, data }');
  }
  return new ToolContent(parts, structured);
}

/** Thrown by a tool that cannot tell whether it took effect: a connection that broke in the middle. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** The words of an outcome. */
export const wordsOf = ({ content }: Outcome): string => textOf({ role: "assistant", content });

export const failure = (content: string): Outcome => ({ status: "failed", content });

/** A tool's return value as text for a model; a value that cannot be told is a failure of the tool. */
export function success(result: unknown): Outcome {
  if (result instanceof ToolContent) {
    const { parts, structured } = result;
    return { status: "succeeded", content: parts, ...(structured !== undefined && { structured }) };
  }
  const written = writtenResult(result);
  if ("text" in written) {
    // "42" and 42 are the same words: of the two, the text is the one that is rare.
    const kept = typeof result === "string" && readsAsValue(result) ? { structured: result } : {};
    return { status: "succeeded", content: written.text, ...kept };
  }
  return failure(`The tool ran, but what it returned cannot be written down: ${written.fault}`);
}

/** No number, boolean or null is written longer. */
const LONGEST_VALUE = 64;

/** Whether a text reads as the JSON of a number, a boolean or null. */
export const readsAsValue = (text: string): boolean =>
  text.length <= LONGEST_VALUE && /^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/.test(text.trim());

/** The outcome as part of the state: the ledger entry and the message, together. */
export function settle(
  state: AgentState,
  call: ToolCall,
  execution: ToolExecution,
  outcome: Outcome,
  options: { readonly now: number; readonly maxResultChars: number },
): AgentState {
  const { status, structured } = outcome;
  const words = wordsOf(outcome);
  const large = words.length > options.maxResultChars;
  const stored = large ? state.withArtifact(call.id, words) : state;
  const text = large ? reference(call, words, options.maxResultChars) : words;
  const files = typeof outcome.content === "string" ? [] : outcome.content.filter(({ type }) => type === "file");
  const whole = large ? [{ type: "text" as const, text }, ...files] : outcome.content;
  const content = files.length === 0 ? text : whole;
  const isError = status !== "succeeded";
  const about = subjectOfTurn(state.messages);
  const metadata =
    about === undefined && structured === undefined
      ? undefined
      : { ...about, ...(structured !== undefined && { structuredContent: structured }) };
  const message: ToolMessage = toolMessage(content, {
    toolCallId: call.id,
    toolName: call.name,
    ...(metadata !== undefined && { metadata }),
    ...(isError && { isError }),
  });
  return (outcome.used === undefined ? stored : stored.withUsage(outcome.used))
    .withMessage(message)
    .withToolExecution({ ...execution, status, settledAt: options.now, ...(isError && { error: text.slice(0, 500) }) });
}

function reference(call: ToolCall, content: string, maxResultChars: number): string {
  const shown = wholeSlice(content, 0, Math.floor(maxResultChars / 4));
  return `${shown}\n[The result has ${content.length} characters; these are the first ${shown.length}. Read on with ${READ_RESULT}({"name": ${JSON.stringify(call.id)}, "from": ${shown.length}}).]`;
}

/** A slice that does not end in half of a character: the other half begins the next one. */
function wholeSlice(text: string, from: number, to: number): string {
  const last = text.charCodeAt(to - 1);
  const isHalf = to < text.length && last >= 0xd800 && last <= 0xdbff;
  return text.slice(from, isHalf ? to - 1 : to);
}

export const READ_RESULT = "read_result";

/** Offered to the model beside the agent's own tools: reads a result that was too large for a message. */
export const readResultTool = (state: () => AgentState, maxResultChars: number): Tool =>
  tool({
    name: READ_RESULT,
    description: "Reads a part of an earlier tool result that was too large to show in full.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string" }, from: { type: "integer", minimum: 0 } },
      required: ["name", "from"],
    },
    effect: "pure",
    execute: (input) => {
      const { name, from } = input as { name: string; from: number };
      const text = Object.hasOwn(state().artifacts, name) ? state().artifacts[name] : undefined;
      if (text === undefined) throw new Error(`there is no result named ${JSON.stringify(name)}`);
      return wholeSlice(text, from, from + maxResultChars - 1) || "[end of the result]";
    },
  });

/** A tool's return value as text for a model, or why it cannot be written down. */
type WrittenResult = { readonly text: string } | { readonly fault: string };

/**
 * JSON, without its silent losses: what JSON would write as `{}`, as `null` or
 * not at all although there is something is refused with its path. A tool that
 * returns nothing is done.
 */
export function writtenResult(result: unknown): WrittenResult {
  if (typeof result === "string") return { text: result };
  if (result === undefined) return { text: "done" };
  const places = new Map<unknown, string>();
  let last: { readonly place: string; readonly value: unknown; readonly holder: object } | undefined;
  const holders = new Map<unknown, object>();
  let fault: string | undefined;
  // Called with the holder as `this`: a value with toJSON is looked at before it became something else.
  function look(this: unknown, key: string, written: unknown): unknown {
    const value = (this as Readonly<Record<string, unknown>>)[key];
    const place = key === "" && !places.has(this) ? "result" : pathOf(places.get(this), key, Array.isArray(this));
    last = { place, value: written, holder: this as object };
    if (typeof value === "object" && value !== null && !places.has(written)) {
      places.set(written, place);
      holders.set(written, this as object);
    }
    fault ??= faultIn(value, place, Array.isArray(this) || place === "result");
    return fault === undefined ? written : null;
  }
  try {
    const text = JSON.stringify(result, look);
    return fault === undefined ? { text } : { fault };
  } catch (error) {
    // The value that JSON met again was looked at right before.
    for (let holder: object | undefined = last?.holder; holder !== undefined; holder = holders.get(holder)) {
      if (holder === last?.value) return { fault: `${last.place} is circular: it is ${places.get(holder)} again` };
    }
    return { fault: reasonOf(error).split("\n")[0] ?? "it is no JSON" };
  }
}

const pathOf = (parent: string | undefined, key: string, inList: boolean): string =>
  inList ? `${parent ?? "result"}[${key}]` : `${parent ?? "result"}.${key}`;

/** `isNeeded`: where JSON would leave a gap. The methods of an object are not part of its content. */
function faultIn(value: unknown, place: string, isNeeded: boolean): string | undefined {
  if (typeof value === "function" || typeof value === "symbol") {
    return isNeeded ? `${place} is a ${typeof value}` : undefined;
  }
  if (typeof value === "bigint") return `${place} is a BigInt`;
  if (typeof value === "number" && !Number.isFinite(value)) return `${place} is ${value}`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  if (value instanceof Error) return `${place} is an Error: ${reasonOf(value)}`;
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return undefined;
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) return isA(place, value);
  const members = Object.values(value);
  if (isPlain(value) && members.every((member) => member === undefined)) return undefined;
  return members.some(isWritten) ? undefined : isA(place, value);
}

/** What JSON writes of an object's members. */
const isWritten = (member: unknown): boolean => !["function", "symbol", "undefined"].includes(typeof member);

function isA(place: string, value: object): string {
  const what = described(value);
  return `${place} is ${what === "an object" ? "an object whose content JSON does not show" : what}`;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
