import { type Page, page } from "../../driver/page.ts";
import { MOST_WARNINGS, Warnings } from "../../driver/warnings.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { globOfPrefix } from "../../internal/glob.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { externalIdOf, type PendingCall, pendingIn } from "../../state/pending.ts";
import { parentOf } from "../../state/tool-calls.ts";
import type { BaseCheckpointer, FindOptions, ThreadSummary } from "../base-checkpointer.ts";
import { type CheckpointContext, contextOf } from "../context.ts";
import { holderNow } from "../lease/riding-lease.ts";
import { waitingAt, waitingRecords } from "../signals/mailbox.ts";
import { signalIn } from "../signals/signal.ts";
import { loadState } from "../thread/loaded-state.ts";
import { positionOf } from "../thread/position.ts";
import { Thread } from "../thread/thread.ts";

/** `limit` counts threads; each may have several items. */
export type InboxOptions = FindOptions;

/** What a thread waits for: the same item as in `pending` of a run, and whose it is. */
export interface InboxItem extends PendingCall {
  readonly threadId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The thread is a graph's: what waits is an interrupt of LangGraph's. */
  readonly isGraph?: true;
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
  const read = async (thread: ThreadSummary): Promise<readonly InboxItem[]> =>
    (await warnings.skipping(thread.threadId, () => itemsOf(checkpointer, thread))) ?? [];
  const items = await inParallel(threads, read);
  return page(items.flat(), threads.cursor, [...(threads.warnings ?? []), ...warnings.list].slice(0, MOST_WARNINGS));
}

async function itemsOf(checkpointer: BaseCheckpointer, thread: ThreadSummary): Promise<readonly InboxItem[]> {
  const { threadId } = thread;
  const context = contextOf(checkpointer);
  if (thread.isGraph === true) {
    if (context === undefined) return [];
    const { graphItems } = await import("../graphs/graph-operations.ts");
    return graphItems(context, threadId);
  }
  const state = await loadState(checkpointer, threadId);
  if (state === undefined) return [];
  const isAbandoned = (thread.standing?.inDoubt ?? 0) > 0 && !(await isUnderWay(context, thread));
  const { metadata } = state;
  const answered = await answeredIn(context, threadId, state);
  return pendingIn(state, { isAbandoned })
    .filter(({ id, isInDoubt = false }) => !answered.has(id) && (isInDoubt || parentOf(metadata) === undefined))
    .map((pending) => ({ threadId, ...pending, metadata }));
}

/** Without a lease, only the last write shows whether a thread is running: a live run saves now and then. */
const IDLE_MS = 60_000;

/** A call that is under way is not in doubt: it is so once the process that began it is gone. */
async function isUnderWay(
  context: CheckpointContext | undefined,
  { threadId, createdAt, lease }: ThreadSummary,
): Promise<boolean> {
  if (context === undefined) return false;
  if (lease !== undefined) return (await holderNow(context, threadId)) !== undefined;
  return context.now() - (createdAt?.getTime() ?? 0) < IDLE_MS;
}

/** What an answer was sent for that the thread's next run takes in: it needs no second one. */
export async function answeredIn(
  context: CheckpointContext | undefined,
  threadId: string,
  state: AgentState,
): Promise<ReadonlySet<string>> {
  const tail = context && positionOf(context, state, threadId)?.tail;
  if (context === undefined || waitingAt(tail).length === 0) return new Set();
  const signals = (await waitingRecords(new Thread(context, threadId, "inbox"), tail)).map(signalIn);
  const parts = signals.flatMap((signal) => (signal.kind === "answers" ? signal.answers : []));
  return new Set(
    parts.flatMap(({ id, toolCallId }) => id ?? (toolCallId === undefined ? [] : externalIdOf(toolCallId))),
  );
}
