import { newId } from "../../driver/new-id.ts";
import { Warnings } from "../../driver/warnings.ts";
import { AT_ONCE, inParallelAsFound } from "../../internal/concurrency.ts";
import { HOLDS, type LegalHold } from "../../state/people/legal-hold.ts";
import type { CheckpointContext } from "../context.ts";
import { everyThread } from "../find/finding.ts";
import { holdsAt } from "../history/editing.ts";
import { isUnreadable } from "../history/removing-threads.ts";
import { placeOfTail, wasAppended } from "../log/append-rules.ts";
import { subjectIndexOf } from "../log/subject-index.ts";
import type { AppendRequest, ThreadEntry, ThreadTail } from "../log/thread-log.ts";
import { markRecord, openHeader } from "../record/record.ts";
import { isGraphs } from "../record/thread-facts.ts";
import { LostRaces } from "../thread/lost-races.ts";
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
    const place = { operation: "hold", threadId: thread.threadId };
    await context
      .guard(place, () => markHeldThread(context, thread.threadId, subject))
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

async function markHeldThread(
  context: CheckpointContext,
  threadId: string,
  subject: string | undefined,
): Promise<void> {
  const place = { operation: "hold", threadId };
  const tail = await context.call(place, (log) => log.tail(threadId));
  if (tail === undefined) return;
  if (subject !== undefined && !(await isAbout(context, threadId, tail, subject))) return;
  let current = tail;
  for (const races = new LostRaces(context, "hold", threadId); ; races.lost()) {
    const request = markRequest(context, current);
    const outcome = await context.call(place, (log) => log.append(threadId, request));
    if (wasAppended(outcome, request)) return;
    const { tail: entry, generation } = outcome;
    // It was removed before the hold was placed, and perhaps made anew after that.
    if (entry === undefined || generation !== tail.generation) return;
    current = { generation, entry };
  }
}

async function isAbout(
  context: CheckpointContext,
  threadId: string,
  tail: ThreadTail,
  person: string,
): Promise<boolean> {
  const index = subjectIndexOf(context);
  const isPerson = (subject: string): boolean => subject === person;
  if (index.clears(threadId, tail, isPerson)) return false;
  const isGraph = isGraphs(openHeader(tail.entry).thread);
  try {
    const looked = await index.noting(threadId, tail, isPerson, (noted) => lookInto(context, threadId, isGraph, noted));
    return looked.found.length > 0;
  } catch (error) {
    // Nobody can say that it is not.
    if (isUnreadable(error)) return true;
    throw error;
  }
}

function markRequest(context: CheckpointContext, tail: ThreadTail): AppendRequest {
  const { entry } = tail;
  const { kind, thread } = openHeader(entry);
  const parts = { seq: entry.seq + 1, writeId: newId(), base: entry.base, head: entry.head };
  return {
    expected: placeOfTail(tail),
    record: markRecord("edit", parts, context.now(), { ...thread, holds: holdsAt(tail) + 1 }),
    // Marks do not pile up.
    ...(kind === "edit" && { drop: [entry.seq] }),
  };
}
