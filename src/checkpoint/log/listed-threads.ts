import type { Warnings } from "../../driver/warnings.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import type { ListedThread, LogEntry, ThreadEntry, UnreadableThread } from "./thread-log.ts";

/**
 * One thread's trouble is never another's: what cannot be read stays an item of
 * its list, with its trouble, and every caller of a list has to say what it does
 * with one.
 */

export const isReadable = (thread: ListedThread): thread is ThreadEntry => "head" in thread;

export const isUnreadableThread = (thread: ListedThread): thread is UnreadableThread => !isReadable(thread);

/**
 * A thread as a list shows it, decoded from what the storage already returned:
 * nothing that `decode` throws can be an outage. `undefined` if it says that the
 * thread is not wanted.
 */
export function listedThread(threadId: string, decode: () => LogEntry): ListedThread;
export function listedThread(threadId: string, decode: () => LogEntry | undefined): ListedThread | undefined;
export function listedThread(threadId: string, decode: () => LogEntry | undefined): ListedThread | undefined {
  try {
    const head = decode();
    return head && { threadId, head };
  } catch (error) {
    const { code, message } = StateError.is(error) ? error : { code: "CORRUPT" as const, message: String(error) };
    return { threadId, trouble: { code, message } };
  }
}

const OF_ONE_THREAD: readonly ErrorCode[] = ["CORRUPT", "INCOMPATIBLE"];

/** The same where reading the thread asked the storage: an outage, or anything else that may concern all, is thrown again. */
export function unreadableThread(threadId: string | undefined, error: unknown): UnreadableThread {
  if (!StateError.is(error) || !OF_ONE_THREAD.includes(error.code)) throw error;
  const { code, message } = error;
  return { threadId: threadId ?? error.context.threadId, trouble: { code, message } };
}

/** Those that can be read. The others are noted. */
export function readableThreads(threads: readonly ListedThread[], warnings: Warnings): readonly ThreadEntry[] {
  for (const thread of threads) if (isUnreadableThread(thread)) noteUnreadable(thread, warnings);
  return threads.filter(isReadable);
}

export const noteUnreadable = ({ threadId, trouble }: UnreadableThread, warnings: Warnings): void =>
  warnings.add({ threadId, ...trouble });
