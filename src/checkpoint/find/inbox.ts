import { type Page, page } from "../../driver/page.ts";
import { MOST_WARNINGS, Warnings } from "../../driver/warnings.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { globOfPrefix } from "../../internal/glob.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { Interrupt } from "../../state/fields.ts";
import { parentOf } from "../../state/tool-calls.ts";
import type { BaseCheckpointer, FindOptions } from "../base-checkpointer.ts";
import { loadState } from "../thread/loaded-state.ts";

/** `limit` counts threads; each may have several items. */
export type InboxOptions = FindOptions;

/** Something that a thread waits for and only a person can provide. */
export interface InboxItem {
  readonly threadId: string;
  /** "in-doubt": a call was started and nobody knows whether it took effect. `settleCall` records how it ended. */
  readonly kind: "question" | "approval" | "in-doubt";
  /** For `agent.resume`; absent for a call in doubt. */
  readonly interruptId?: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: unknown;
  readonly question: string;
  /** The schema of the answer, if the tool gave one. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** The key to look up where the effect would have happened. */
  readonly idempotencyKey?: string;
  readonly since?: Date;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Reads the states of waiting threads only. A thread that cannot be read becomes a warning. */
export async function readInbox(checkpointer: BaseCheckpointer, options: InboxOptions): Promise<Page<InboxItem>> {
  const { threadPrefix = "", ...place } = options;
  const threads = await checkpointer.listWithMetadata({
    ...place,
    pattern: globOfPrefix(threadPrefix),
    standing: ["waiting", "inDoubt"],
  });
  const warnings = new Warnings();
  const items = await inParallel(threads, async ({ threadId }) => {
    const state = await warnings.skipping(threadId, () => loadState(checkpointer, threadId));
    return state === undefined ? [] : itemsOf(threadId, state);
  });
  return page(items.flat(), threads.cursor, [...(threads.warnings ?? []), ...warnings.list].slice(0, MOST_WARNINGS));
}

/** A call that is under way is not in doubt yet; whoever runs the thread next finds out. */
function itemsOf(threadId: string, state: AgentState): readonly InboxItem[] {
  const items: InboxItem[] = [];
  const { metadata } = state;
  // What a sub-agent asks is asked, and answered, in the thread that it works for.
  const questions = parentOf(metadata) === undefined ? state.interrupts.filter(isPending) : [];
  for (const { id, kind, toolCallId, question, schema, askedAt } of questions) {
    const asked = { interruptId: id, question, since: new Date(askedAt), ...(schema !== undefined && { schema }) };
    items.push({ threadId, kind, ...callOf(state, toolCallId), ...asked, metadata });
  }
  for (const { toolCallId, toolName, settledAt } of state.toolExecutions.filter(({ status }) => status === "unknown")) {
    const since = settledAt === undefined ? {} : { since: new Date(settledAt) };
    const question = `Did the call of ${toolName} take effect?`;
    items.push({ threadId, kind: "in-doubt", ...callOf(state, toolCallId), question, ...since, metadata });
  }
  return items;
}

const isPending = ({ answer }: Interrupt): boolean => answer === undefined;

function callOf(
  { messages, toolExecutions }: AgentState,
  toolCallId: string,
): Pick<InboxItem, "toolCallId" | "toolName" | "arguments" | "idempotencyKey"> {
  const execution = toolExecutions.findLast((entry) => entry.toolCallId === toolCallId);
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const call = calls.findLast(({ id }) => id === toolCallId);
  const key = execution?.idempotencyKey;
  return {
    toolCallId,
    toolName: execution?.toolName ?? call?.name ?? "",
    arguments: call?.arguments,
    ...(key !== undefined && { idempotencyKey: key }),
  };
}
