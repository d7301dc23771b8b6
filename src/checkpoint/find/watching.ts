import { assertThreadId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import type { CheckpointSummary } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import { isSamePlace, placeOfTail } from "../log/driver-rules.ts";
import type { KnownPlace, LogEntry } from "../log/thread-log.ts";
import { Thread } from "../thread/thread.ts";
import { summarise } from "./summary.ts";

export interface WatchOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** How often to poll if the backend cannot call back. @default 250 */
  readonly pollMs?: number;
}

/** A timer with a longer delay fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function assertWatchOptions({ pollMs = 250 }: WatchOptions): void {
  if (typeof pollMs === "number" && pollMs >= 1 && pollMs <= LONGEST_TIMER_MS) return;
  const range = `a number of milliseconds from 1 to ${LONGEST_TIMER_MS}`;
  throw new StateError("INVALID_ARGUMENT", `pollMs must be ${range}, not ${String(pollMs)}`);
}

/**
 * Every checkpoint saved from now on, in order, by any process, until the signal
 * aborts or the checkpointer is closed. The thread need not exist yet.
 */
export async function* watchThread(
  context: CheckpointContext,
  threadId: string,
  { signal, pollMs = 250 }: WatchOptions,
): AsyncGenerator<CheckpointSummary, void, undefined> {
  assertThreadId(threadId);
  const over = new AbortController();
  const end = (): void => over.abort();
  const ends = [context.closing, ...(signal === undefined ? [] : [signal])];
  if (ends.some(({ aborted }) => aborted)) return;
  for (const one of ends) one.addEventListener("abort", end);
  try {
    yield* summariesFrom(context, threadId, pollMs, over.signal);
  } catch (error) {
    // A read that closing interrupted is not a failure of the watch.
    if (!context.closing.aborted) throw error;
  } finally {
    for (const one of ends) one.removeEventListener("abort", end);
  }
}

async function* summariesFrom(
  context: CheckpointContext,
  threadId: string,
  pollMs: number,
  signal: AbortSignal,
): AsyncGenerator<CheckpointSummary, void, undefined> {
  const bell = ring(context, threadId, pollMs, signal);
  try {
    let seen = await tailOf(context, threadId);
    const known = new KnownCheckpoints();
    let generation = seen?.generation;
    if (seen !== undefined) for (const entry of await newestUpTo(context, threadId, seen.seq)) known.add(entry);
    while (!signal.aborted) {
      const now = await tailOf(context, threadId);
      if (now !== undefined && (seen === undefined || !isSamePlace(now, seen))) {
        // Not of what was seen last: a folder that is being put back holds no thread for a moment.
        if (now.generation !== generation) known.clear();
        generation = now.generation;
        for (const { entry, older } of await entriesBehind(context, threadId, known)) {
          yield summarise(entry, older);
          known.add(entry);
        }
      }
      seen = now;
      await bell.next();
    }
  } finally {
    bell.stop();
  }
}

async function tailOf(context: CheckpointContext, threadId: string): Promise<KnownPlace | undefined> {
  const found = await context.call({ operation: "watch", threadId }, (log) => log.tail(threadId));
  return found && placeOfTail(found);
}

const newestUpTo = (context: CheckpointContext, threadId: string, seq: number): Promise<readonly LogEntry[]> =>
  context.call({ operation: "watch", threadId }, (log) => log.list(threadId, { before: seq + 1, limit: MOST_KNOWN }));

const MOST_KNOWN = 100;

/**
 * The newest checkpoints that were there at the start or were shown: what is above one of them is new. Not only the
 * newest, which may be deleted; and not by its number alone, which another gets where a storage was put back.
 */
class KnownCheckpoints {
  readonly #writes = new Map<number, string>();

  has({ seq, writeId }: LogEntry): boolean {
    return this.#writes.get(seq) === writeId;
  }

  add({ seq, writeId }: LogEntry): void {
    this.#writes.set(seq, writeId);
    if (this.#writes.size > MOST_KNOWN) this.#writes.delete(Math.min(...this.#writes.keys()));
  }

  clear(): void {
    this.#writes.clear();
  }
}

/** Oldest first, each with the one before it. */
async function entriesBehind(
  context: CheckpointContext,
  threadId: string,
  known: KnownCheckpoints,
): Promise<{ entry: LogEntry; older: LogEntry | undefined }[]> {
  const found: LogEntry[] = [];
  for await (const entry of new Thread(context, threadId, "watch").entries()) {
    found.push(entry);
    if (known.has(entry)) break;
  }
  return found
    .map((entry, index) => ({ entry, older: found[index + 1] }))
    .filter(({ entry }) => !known.has(entry))
    .reverse();
}

/** Resolves when it is worth looking again: when the driver calls back, after a while, or when aborted. */
function ring(
  context: CheckpointContext,
  threadId: string,
  pollMs: number,
  signal: AbortSignal,
): { next(): Promise<void>; stop(): void } {
  const { log } = context;
  if (!log.capabilities.subscribe) {
    return { next: () => sleep(pollMs, signal).catch(() => undefined), stop: () => undefined };
  }
  let changed = false;
  let wake: () => void = () => undefined;
  const onChange = (): void => {
    changed = true;
    wake();
  };
  const unsubscribe = log.subscribe(threadId, onChange);
  signal.addEventListener("abort", onChange);
  return {
    next: async () => {
      if (!changed) await new Promise<void>((resolve) => (wake = resolve));
      changed = false;
    },
    stop: () => {
      unsubscribe();
      signal.removeEventListener("abort", onChange);
    },
  };
}
