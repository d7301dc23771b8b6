import type { CheckpointContext } from "../context.ts";
import type { KnownPlace, LogRecord } from "../log/thread-log.ts";
import { type Forgets, whoIsNamed } from "./people-in-thread.ts";

/** Whom a thread is about, as of one tail. */
interface IndexedThread {
  readonly tail: string;
  readonly subjects: ReadonlySet<string>;
}

/** More people than this in one thread are not worth remembering: it is read each time. */
const MOST_SUBJECTS = 1000;
/** Earlier than any record, so every cutoff matches. */
const EVER = Number.MIN_SAFE_INTEGER;

/**
 * Which people each thread is about, so that a lookup of one of them reads the threads
 * that have changed and those that may hold something, and no others.
 *
 * It is made from the threads themselves while they are looked through, so saves pay
 * nothing for it, records of any age are in it, and it is the same on every storage. An
 * entry is good for one tail: every change of a thread, be it a save, a step, an edit,
 * a restored backup or another thread under the same id, has a tail with another write
 * id, and then the thread is read again. So a new fork or copy is read, and an entry
 * can be stale but never wrong.
 */
export class SubjectIndex {
  readonly #threads = new Map<string, IndexedThread>();

  /** Whether the thread, as it is now, is known to hold nothing about those people. */
  clears(threadId: string, tail: KnownPlace, forgets: Forgets): boolean {
    const known = this.#threads.get(threadId);
    if (known === undefined || known.tail !== keyOf(tail)) return false;
    for (const subject of known.subjects) if (forgets(subject, EVER)) return false;
    return true;
  }

  /**
   * The same of a thread with all of its records. Whom they name is told by their texts alone, and that is all that a first
   * look does with most threads. Where the texts do not tell, the thread is looked into.
   */
  clearsBy(threadId: string, tail: KnownPlace, records: readonly LogRecord[], forgets: Forgets): boolean {
    const subjects = whoIsNamed(records);
    if (subjects === undefined || subjects.size > MOST_SUBJECTS) return false;
    this.#threads.set(threadId, { tail: keyOf(tail), subjects });
    return this.clears(threadId, tail, forgets);
  }

  /** Notes whom `look` asks about. They are all of the thread's people only if none was found in it. */
  async noting<T extends { readonly isFree: boolean }>(
    threadId: string,
    tail: KnownPlace,
    forgets: Forgets,
    look: (forgets: Forgets) => Promise<T>,
  ): Promise<T> {
    const subjects = new Set<string>();
    let isMatched = false;
    const looked = await look((subject, writtenAt) => {
      subjects.add(subject);
      const isForgotten = forgets(subject, writtenAt);
      isMatched ||= isForgotten;
      return isForgotten;
    });
    this.#threads.delete(threadId);
    if (looked.isFree && !isMatched && subjects.size <= MOST_SUBJECTS) {
      this.#threads.set(threadId, { tail: keyOf(tail), subjects });
    }
    return looked;
  }

  /** Forgets threads that are no longer there. */
  retain(threadIds: ReadonlySet<string>): void {
    for (const threadId of this.#threads.keys()) if (!threadIds.has(threadId)) this.#threads.delete(threadId);
  }
}

const keyOf = ({ generation, writeId }: KnownPlace): string => `${generation}/${writeId}`;

const indexes = new WeakMap<CheckpointContext, SubjectIndex>();

/** Kept as long as the checkpointer, and shared by all who look for people in its threads. */
export function subjectIndexOf(context: CheckpointContext): SubjectIndex {
  const index = indexes.get(context) ?? new SubjectIndex();
  indexes.set(context, index);
  return index;
}
