import { Warnings } from "../../driver/warnings.ts";
import { AT_ONCE, inParallelAsFound } from "../../internal/concurrency.ts";
import { HOLDS, type LegalHold } from "../../state/people/legal-hold.ts";
import type { CheckpointContext } from "../context.ts";
import { everyThread } from "../find/finding.ts";
import { isUnreadable } from "../history/removing-threads.ts";
import { subjectIndexOf } from "../log/subject-index.ts";
import type { ThreadEntry } from "../log/thread-log.ts";
import { isGraphs } from "../record/thread-facts.ts";
import { holdsAt, planMark, type Tail, Thread } from "../thread/thread.ts";
import { lookInto } from "./people-in-thread.ts";

/**
 * A hold that was just written also counts for removals that are under way. Each
 * of those reads the place of its thread, then the holds, and is carried out only
 * at that place. So every thread that the hold keeps gets a record which says
 * nothing but that a hold was placed: whoever read the place before it is refused
 * by the storage, and whoever read it after it sees the hold. What is written to
 * a thread meanwhile, or to a new one, came after the hold and needs no mark.
 */
export async function markHeldThreads(context: CheckpointContext, hold: LegalHold): Promise<void> {
  const { listThreads, callsTogether = 1 } = context.log.capabilities;
  // Such a storage has no vacuum and no erasure either.
  if (!listThreads) return;
  const { subject, threadPrefix = "" } = hold;
  const mark = async (thread: ThreadEntry): Promise<void> => {
    // The hold itself was written to it.
    if (thread.threadId === HOLDS) return;
    const held = new Thread(context, thread.threadId, "hold");
    await held
      .guard(() => markHeldThread(held, subject))
      .catch((error: unknown) => {
        // Where the newest record cannot be read, only a deletion of the whole thread takes anything from it.
        if (!isUnreadable(error)) throw error;
      });
  };
  // Whole threads are read in order to find a person: not too many at a time.
  const atOnce = subject === undefined ? Math.max(AT_ONCE, callsTogether) : AT_ONCE;
  const pageSize = Math.max(100, atOnce);
  await inParallelAsFound(everyThread(context, "hold", threadPrefix, new Warnings(), pageSize), mark, atOnce);
}

async function markHeldThread(thread: Thread, subject: string | undefined): Promise<void> {
  const read = await thread.tail();
  if (read === undefined) return;
  if (subject !== undefined && !(await isAbout(thread, read, subject))) return;
  await thread.append(read, (tail) => {
    // It was removed before the hold was placed, and perhaps made anew after that.
    if (tail?.generation !== read.generation) return undefined;
    return planMark(thread, "edit", tail, { ...tail.thread, holds: holdsAt(tail) + 1 });
  });
}

async function isAbout({ context, id: threadId }: Thread, tail: Tail, person: string): Promise<boolean> {
  const index = subjectIndexOf(context);
  const isPerson = (subject: string): boolean => subject === person;
  if (index.clears(threadId, tail, isPerson)) return false;
  const isGraph = isGraphs(tail.thread);
  try {
    const looked = await index.noting(threadId, tail, isPerson, (noted) => lookInto(context, threadId, isGraph, noted));
    return looked.found.length > 0;
  } catch (error) {
    // It may be.
    if (isUnreadable(error)) return true;
    throw error;
  }
}
