import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { StateFields } from "../../state/fields.ts";
import { decodeValue } from "../../state/values/codec.ts";
import { isPlainObject } from "../../state/values/doorway.ts";
import type { ValuePath } from "../api.ts";
import { valueAt } from "./value-tree.ts";

export interface Edit {
  readonly path: ValuePath;
  /** JSON with the codec's tags. */
  readonly value: unknown;
  /** What comes after the message that is edited is left out. */
  readonly isLast: boolean;
}

/** The state with one value replaced. Refuses what cannot be a state, and a cut that would leave a call without its result. */
export function edited(state: AgentState, { path, value, isLast }: Edit): AgentState {
  const [field, ...rest] = path;
  if (typeof field !== "string" || !Object.hasOwn(state.fields, field)) {
    throw new StateError("INVALID_ARGUMENT", "the path must begin with a field of the state");
  }
  valueAt(state.fields, path);
  const whole = (state.fields as unknown as Readonly<Record<string, unknown>>)[field];
  const changed = state.with({ [field]: replacedIn(whole, rest, decodeValue(value, "value")) } as Partial<StateFields>);
  if (!isLast) return changed;
  const [message] = rest;
  if (field !== "messages" || typeof message !== "number") {
    throw new StateError("INVALID_ARGUMENT", "only what comes after a message can be left out");
  }
  return cutAfter(changed, message);
}

function replacedIn(value: unknown, [step, ...rest]: ValuePath, next: unknown): unknown {
  if (step === undefined) return next;
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? replacedIn(item, rest, next) : item));
  if (isPlainObject(value)) {
    const entries = Object.entries(value).map(([key, member]) => [
      key,
      key === step ? replacedIn(member, rest, next) : member,
    ]);
    return Object.fromEntries(entries);
  }
  throw new StateError("UNSUPPORTED", "members of maps and sets cannot be edited here; edit the whole map or set");
}

function cutAfter(state: AgentState, index: number): AgentState {
  const messages = state.messages.slice(0, index + 1);
  const results = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])));
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const orphan = calls.find(({ id }) => !results.has(id));
  if (orphan !== undefined) {
    const advice = "keep the results as well, or cut before the call";
    throw new StateError("CONFLICT", `the call of ${orphan.name} would lose its result: ${advice}`);
  }
  const isKept = ({ toolCallId }: { readonly toolCallId: string }): boolean => results.has(toolCallId);
  return state.with({
    messages,
    toolExecutions: state.toolExecutions.filter(isKept),
    interrupts: state.interrupts.filter(isKept),
  });
}
