import type { CheckpointContext } from "../../checkpoint/context.ts";
import { PrefixLog } from "../../checkpoint/log/prefix-log.ts";
import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";

/** What the ids of the threads of a run begin with: whose they are, when it began, and which run it was. */
export const scratchPrefix = (root: string, now: number): string =>
  `${root}${now.toString(36)}-${newId().slice(0, 8)}/`;

/** When the run began that a thread of this id was made by; `undefined` where it is no such thread. */
export function begunAt(root: string, threadId: string): number | undefined {
  if (!threadId.startsWith(root)) return undefined;
  const [, time] = /^([0-9a-z]{8,9})-[0-9a-f]{8}\/\d+\//.exec(threadId.slice(root.length)) ?? [];
  return time === undefined ? undefined : Number.parseInt(time, 36);
}

/** The calls that name a thread which may come to be by them, and where the name stands. */
const MAKING: Readonly<Record<string, number>> = { append: 0, copy: 1 };
const WAITED_FOR: ReadonlySet<string> = new Set([
  "append",
  "copy",
  "remove",
  "readTail",
  "readCheckpoint",
  "readRecords",
  "entry",
  "tail",
  "list",
  "listThreads",
  "search",
  "catchUp",
  "queryMetadata",
]);

/**
 * The threads that a run of doctor makes in a store that others use, and the way
 * to be rid of them. It notes each of them by itself: a thread without a
 * checkpoint is in no list, and the list may be what is broken.
 */
export class Scratch {
  readonly prefix: string;
  readonly #made = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();
  #isOver = false;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  /** A part of the log that holds nothing yet. */
  view(log: ThreadLog, number: number): ThreadLog {
    return new PrefixLog(this.#watched(log), `${this.prefix}${number}/`);
  }

  /** Refuses what would come, and waits for what is under way: an append that arrives after the cleaning would stay. */
  async end(): Promise<void> {
    this.#isOver = true;
    while (this.#underWay.size > 0) await Promise.allSettled([...this.#underWay]);
  }

  /** Removes all that was made. Returns the ids of threads that are still there, or may be. */
  async clear(context: CheckpointContext): Promise<readonly string[]> {
    const left: string[] = [];
    for (const threadId of [...this.#made]) {
      if (await isGone(context, threadId)) this.#made.delete(threadId);
      else left.push(threadId);
    }
    return left;
  }

  #watched(log: ThreadLog): ThreadLog {
    return new Proxy(log, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (typeof name !== "string" || !WAITED_FOR.has(name)) return value.bind(target);
        return (...given: unknown[]) => this.#call(name, given, () => value.apply(target, given) as Promise<unknown>);
      },
    });
  }

  async #call(name: string, given: readonly unknown[], work: () => Promise<unknown>): Promise<unknown> {
    if (this.#isOver) throw new StateError("CLOSED", "the command was ended");
    const at = MAKING[name];
    if (at !== undefined) this.#made.add(String(given[at]));
    const call = work();
    this.#underWay.add(call);
    try {
      return await call;
    } finally {
      this.#underWay.delete(call);
    }
  }
}

/** Removes a thread and looks whether it went: the removal may be what is broken. */
async function isGone(context: CheckpointContext, threadId: string): Promise<boolean> {
  const place = { operation: "doctor", threadId };
  try {
    await context.call(place, (log) => log.remove(threadId));
    return (await context.call(place, (log) => log.tail(threadId))) === undefined;
  } catch (error) {
    if (StateError.is(error)) return false;
    throw error;
  }
}

/** Asked before anything is written: what may not be removed would stay. */
export async function assertMayRemove(context: CheckpointContext, { prefix }: Scratch): Promise<void> {
  const threadId = `${prefix}0/none`;
  try {
    await context.call({ operation: "doctor", threadId }, (log) => log.remove(threadId));
  } catch (error) {
    if (!StateError.is(error, "PERMISSION_DENIED")) throw error;
    throw new StateError("PERMISSION_DENIED", "doctor needs to delete what it writes, and may not delete here", {
      cause: error,
    });
  }
}
