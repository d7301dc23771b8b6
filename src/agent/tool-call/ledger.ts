import { createHash, randomUUID } from "node:crypto";
import type { AgentState } from "../../state/agent-state.ts";
import type { ToolExecution } from "../../state/fields.ts";
import type { AssistantMessage, ToolCall } from "../../state/message.ts";
import { openCallsIn } from "../../state/tool-calls.ts";
import { canonicalJson } from "../../state/values/codec.ts";
import type { Tool } from "./tool.ts";

/**
 * The tool ledger: the state of each tool call. Its entries are part of the state and
 * become durable with it, so that a resumed thread shows which calls were requested,
 * begun and settled.
 */

/** A call together with its entry. */
export interface LedgerCall {
  readonly call: ToolCall;
  readonly execution: ToolExecution;
}

/** Enters every call of the model's message as intended, with the key that all attempts at it will share. */
export function intend(
  state: AgentState,
  message: AssistantMessage,
  tools: ReadonlyMap<string, Tool>,
  threadId: string | undefined,
): AgentState {
  let next = state;
  for (const call of message.toolCalls ?? []) {
    next = next.withToolExecution({
      toolCallId: call.id,
      toolName: call.name,
      status: "intended",
      idempotencyKey: newKey(call, threadId),
      argumentsHash: argumentsHash(call),
      ...recordedOf(tools.get(call.name)),
    });
  }
  return next;
}

/**
 * Random, and derived from the thread and the call, in the form of a UUID: cloned machines draw the same random numbers,
 * and a service takes a call with a known key for a repetition. On one thread the log decides which clone continues.
 */
function newKey(call: ToolCall, threadId: string | undefined): string {
  const hex = digest([randomUUID(), threadId ?? "", call.id, argumentsHash(call)]);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** What a later process, which may have other tools, needs to know about this one. */
function recordedOf(tool: Tool | undefined): Pick<ToolExecution, "effect" | "terminal"> {
  if (tool === undefined) return {};
  return { effect: tool.effect, ...(tool.terminal && { terminal: true }) };
}

/** The calls of the latest model message that have no outcome yet: what a turn still has to do. */
export const openCalls = (state: AgentState): readonly LedgerCall[] =>
  openCallsIn(state).map(({ call, execution }) => ({ call, execution: execution ?? unrecorded(call) }));

/** A thread that was imported or edited may hold calls the ledger never saw: nothing is known of their fate. */
const unrecorded = (call: ToolCall): ToolExecution => ({
  toolCallId: call.id,
  toolName: call.name,
  status: "started",
  idempotencyKey: newKey(call, undefined),
  argumentsHash: argumentsHash(call),
});

/** An earlier call of the same tool with the same arguments that succeeded, for tools with `reuseResult`. */
export function earlierSuccess(state: AgentState, call: ToolCall): ToolExecution | undefined {
  const hash = argumentsHash(call);
  return state.toolExecutions.find(
    (entry) =>
      entry.toolName === call.name &&
      entry.status === "succeeded" &&
      entry.argumentsHash === hash &&
      entry.toolCallId !== call.id,
  );
}

/** Same tool, same arguments, whatever the order of their keys. */
export const argumentsHash = (call: ToolCall): string => digest([call.name, canonicalJson(call.arguments)]);

const digest = (parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);

/** Under which the state keeps what tools its last run had. */
const KEY = "holdfast.tools";

type ToolHashes = Readonly<Record<string, string>>;

/** Keeps the tools' hashes in the state; unchanged tools cost nothing. */
export function withToolList(state: AgentState, tools: readonly Tool[]): AgentState {
  const hashes = hashesOf(tools);
  const known = state.providerState[KEY];
  if (known === undefined && tools.length === 0) return state;
  return canonicalJson(known) === canonicalJson(hashes) ? state : state.withProviderState({ [KEY]: hashes });
}

/** What a thread that is resumed should know: the tools are not the ones its last run had. */
export function changedTools(state: AgentState, tools: readonly Tool[]): string | undefined {
  const known = state.providerState[KEY] as ToolHashes | undefined;
  if (known === undefined) return undefined;
  const now = hashesOf(tools);
  const gone = Object.keys(known).filter((name) => !Object.hasOwn(now, name));
  const added = Object.keys(now).filter((name) => !Object.hasOwn(known, name));
  const changed = Object.keys(now).filter((name) => Object.hasOwn(known, name) && known[name] !== now[name]);
  const parts = [
    ["removed", gone],
    ["added", added],
    ["changed", changed],
  ] as const;
  const said = parts.filter(([, names]) => names.length > 0).map(([what, names]) => `${what}: ${names.join(", ")}`);
  return said.length === 0 ? undefined : `the tools are not those of the thread's last run (${said.join("; ")})`;
}

const hashesOf = (tools: readonly Tool[]): ToolHashes =>
  Object.fromEntries(
    tools.map(({ name, description, schema, effect }) => [
      name,
      createHash("sha256")
        .update(canonicalJson([name, typeof description === "string" ? description : "", schema.jsonSchema, effect]))
        .digest("hex")
        .slice(0, 16),
    ]),
  );
