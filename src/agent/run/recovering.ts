import type { BaseCheckpointer, ThreadSummary } from "../../checkpoint/base-checkpointer.ts";
import { contextOf } from "../../checkpoint/context.ts";
import { everyThread } from "../../checkpoint/find/finding.ts";
import { summariseThread } from "../../checkpoint/find/summary.ts";
import { holderNow } from "../../checkpoint/lease/riding-lease.ts";
import type { ThreadEntry } from "../../checkpoint/log/thread-log.ts";
import { waitingAt } from "../../checkpoint/signals/mailbox.ts";
import { Thread } from "../../checkpoint/thread/thread.ts";
import { type ThreadWarning, Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { globOfPrefix } from "../../internal/glob.ts";
import { assertKnownOptions, type OptionKinds } from "../../internal/known-options.ts";
import { parentOf } from "../../state/tool-calls.ts";
import type { RunResult, StopReason } from "../events.ts";
import type { Needed } from "../run-options.ts";
import { RunError } from "./run-error.ts";

export interface RecoverOptions<Runtime = unknown> {
  /** Only threads whose ids begin with this text. @default "" */
  readonly prefix?: string;
  /** Only threads without a write for this long: a live run saves now and then. @default 60000 */
  readonly olderThanMs?: number;
  /** How many threads are run at once. @default 4 */
  readonly concurrency?: number;
  /** Once it aborts, no further thread is begun; those under way come to their end. See `drain` to cut them off. */
  readonly signal?: AbortSignal;
  /** For the tools of every thread. */
  readonly runtime?: Runtime;
}

export interface RecoverReport {
  /** Threads that were run, and how each run ended. */
  readonly recovered: readonly { readonly threadId: string; readonly stopReason: StopReason }[];
  /** Threads whose run failed; the others were still run. */
  readonly failed: readonly { readonly threadId: string; readonly error: unknown }[];
  /** Threads that cannot be read. At most 20. */
  readonly warnings: readonly ThreadWarning[];
}

/** What tools need of the runtime context must be given. */
export type RecoverArguments<Runtime> = unknown extends Runtime
  ? [options?: RecoverOptions<Runtime>]
  : [options: Needed<RecoverOptions<Runtime>, Runtime>];

export const nothingToRecover = (): StateError =>
  new StateError("INVALID_ARGUMENT", "recover() needs an agent with a checkpointer: without one nothing is kept");

const OPTIONS: OptionKinds<RecoverOptions> = {
  prefix: "string",
  olderThanMs: "number",
  concurrency: "number",
  signal: "object",
  runtime: "anything",
};

export function assertRecoverOptions(options: RecoverOptions): void {
  assertKnownOptions("recover()", options, OPTIONS);
  const { olderThanMs = 0, concurrency = 1 } = options;
  if (!(olderThanMs >= 0)) throw new StateError("INVALID_ARGUMENT", "recover(): olderThanMs must be 0 or more");
  if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new StateError("INVALID_ARGUMENT", "recover(): concurrency must be a whole number from 1 on");
  }
}

interface Recovery {
  readonly now: number;
  readonly isDraining: () => boolean;
  /** `undefined` where nothing was left to do: another process was faster. */
  readonly run: (threadId: string) => Promise<RunResult | undefined>;
}

const PAGE = 100;

/** In pages, so that the cost depends on the number of unfinished threads; each thread is run at most once. */
export async function recoverThreads(
  checkpointer: BaseCheckpointer,
  options: RecoverOptions,
  { now, isDraining, run }: Recovery,
): Promise<RecoverReport> {
  const { prefix = "", olderThanMs = 60_000, concurrency = 4, signal } = options;
  const isStopped = (): boolean => signal?.aborted === true || isDraining();
  const recovered: { threadId: string; stopReason: StopReason }[] = [];
  const failed: { threadId: string; error: unknown }[] = [];
  const warnings = new Warnings();
  const runAll = async (queue: ThreadSummary[]): Promise<void> => {
    const workers = Array.from({ length: Math.min(concurrency, queue.length) }, async () => {
      for (let next = queue.shift(); next !== undefined && !isStopped(); next = queue.shift()) {
        const { threadId } = next;
        try {
          if (await isHeld(checkpointer, next, now)) continue;
          const result = await run(threadId);
          if (result !== undefined) recovered.push({ threadId, stopReason: result.stopReason });
        } catch (error) {
          if (!isTakenByAnother(error)) failed.push({ threadId, error });
        }
      }
    });
    await Promise.all(workers);
  };
  const met = new Set<string>();
  let cursor: string | undefined;
  do {
    const query = { pattern: globOfPrefix(prefix), standing: "unfinished", limit: PAGE } as const;
    const found = await checkpointer.listWithMetadata({ ...query, ...(cursor !== undefined && { cursor }) });
    for (const warning of found.warnings ?? []) warnings.name(warning);
    const left = found.filter((thread) => isLeft(thread, now, olderThanMs));
    for (const { threadId } of left) met.add(threadId);
    await runAll(left);
    if (found.cursor !== undefined && found.cursor === cursor) {
      const { name } = checkpointer.constructor;
      throw new TypeError(`${name}.listWithMetadata() gave the same cursor twice: the last page must have no cursor`);
    }
    cursor = found.cursor;
  } while (cursor !== undefined && !isStopped());
  const unread = new Warnings();
  for await (const page of threadsWithMail(checkpointer, prefix, unread)) {
    if (isStopped()) break;
    const isOwn = ({ threadId, metadata }: ThreadSummary) => !met.has(threadId) && parentOf(metadata) === undefined;
    await runAll(page.filter(isOwn));
  }
  for (const warning of unread.list) warnings.name(warning);
  return { recovered, failed, warnings: warnings.list };
}

/**
 * Threads that something was sent to, in pages. No list tells: a signal moves the tail of a thread and not its newest
 * checkpoint. So each tail is asked, without its body.
 */
async function* threadsWithMail(
  checkpointer: BaseCheckpointer,
  prefix: string,
  warnings: Warnings,
): AsyncGenerator<ThreadSummary[]> {
  const context = contextOf(checkpointer);
  if (context === undefined || !checkpointer.capabilities.conditionalSave) return;
  const look = async (thread: ThreadEntry): Promise<readonly ThreadSummary[]> => {
    const { threadId } = thread;
    const tail = await warnings.skipping(threadId, () => new Thread(context, threadId, "recover").tail());
    return waitingAt(tail).length === 0 ? [] : [summariseThread(thread, warnings)];
  };
  let page: ThreadEntry[] = [];
  for await (const thread of everyThread(context, "recover", prefix, warnings)) {
    page.push(thread);
    if (page.length < PAGE) continue;
    yield (await inParallel(page, look)).flat();
    page = [];
  }
  yield (await inParallel(page, look)).flat();
}

/**
 * Refused before it began: another process, which began at the same time, continues the turn.
 */
const isTakenByAnother = (error: unknown): boolean => StateError.is(error, "CONFLICT") && !(error instanceof RunError);

/**
 * The summary shows the lease as of the newest checkpoint, and it may have been given back since: only the thread
 * itself is current.
 */
async function isHeld(checkpointer: BaseCheckpointer, thread: ThreadSummary, now: number): Promise<boolean> {
  const { threadId, lease } = thread;
  if (lease === undefined || lease.expiresAt.getTime() <= now) return false;
  const context = contextOf(checkpointer);
  return context === undefined || (await holderNow(context, threadId)) !== undefined;
}

/**
 * It was not ended on purpose and not written lately, and there is more to do than
 * to wait for people or for outcomes that are not overdue.
 */
function isLeft({ standing = {}, createdAt, metadata }: ThreadSummary, now: number, olderThanMs: number): boolean {
  // Child threads are resumed by their parent, with their own agent.
  if (parentOf(metadata) !== undefined) return false;
  const { open = 0, waiting = 0, dueAt = Number.POSITIVE_INFINITY, stopped = false } = standing;
  const isWaiting = waiting > 0 && open <= waiting && now < dueAt;
  return !stopped && !isWaiting && (createdAt?.getTime() ?? 0) <= now - olderThanMs;
}
