import { Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import { AT_ONCE, inParallelAsFound } from "../../internal/concurrency.ts";
import { AgentState } from "../../state/agent-state.ts";
import {
  ActiveHolds,
  HOLDS,
  heldError,
  holdFrom,
  isLeftToService,
  type LegalHold,
  laterOf,
  storedHold,
} from "../../state/people/legal-hold.ts";
import type { CheckpointContext } from "../context.ts";
import { everyThread } from "../find/finding.ts";
import { isUnreadable } from "../history/removing-threads.ts";
import type { ThreadEntry } from "../log/thread-log.ts";
import { codecOf } from "../record/codec.ts";
import { loadNewest } from "../thread/loading.ts";
import { saveState } from "../thread/saving.ts";
import { holdsAt, LostRaces, planMark, type Tail, Thread } from "../thread/thread.ts";
import { type Keeps, lookInto } from "./people-in-thread.ts";
import { subjectIndexOf } from "./subject-index.ts";

/**
 * Legal holds, in a thread of the package's own in the storage of what they hold. They
 * are read before each thread that something is removed from, and never cached: a hold
 * is placed without knowing which removals run at that moment.
 */

/** One key of the state's metadata for each hold. */
const KEY = "hold:";

/** Every hold that was ever placed, in the order of their times. */
export async function everyHold(context: CheckpointContext): Promise<readonly LegalHold[]> {
  return holdsIn(await loadNewest(context, { operation: "holds", threadId: HOLDS }));
}

export async function activeHolds(context: CheckpointContext): Promise<ActiveHolds> {
  try {
    return new ActiveHolds(await everyHold(context));
  } catch (error) {
    if (isLeftToService(error)) return new ActiveHolds([]);
    throw error;
  }
}

/** Writes a hold, or that it was lifted. What others place meanwhile stays. */
export async function putHold(context: CheckpointContext, hold: LegalHold): Promise<void> {
  const place = { operation: "hold", threadId: HOLDS };
  context.assertMayWrite("hold");
  for (const races = new LostRaces(context, "hold", HOLDS); ; races.lost()) {
    const state = (await loadNewest(context, place)) ?? AgentState.create({ metadata: { kind: "holds" } });
    const known = state.metadata[KEY + hold.id];
    const next = laterOf(known === undefined ? undefined : holdFrom(known), hold);
    try {
      const changed = state.withMetadata({ [KEY + hold.id]: storedHold(next) });
      await context.guard(place, () => saveState(context, changed, HOLDS, {}));
      return;
    } catch (error) {
      if (!StateError.is(error, "CONFLICT")) throw error;
    }
  }
}

/** Refuses to take anything from a thread that is under a hold, or that holds something about a person who is. */
export async function assertNotHeld(
  context: CheckpointContext,
  threadId: string,
  readHolds: () => Promise<ActiveHolds> = () => activeHolds(context),
): Promise<void> {
  const holds = await readHolds();
  const hold =
    threadId === HOLDS ? holds.first : (holds.onThread(threadId) ?? (await holdOnPeopleIn(context, threadId, holds)));
  if (hold !== undefined) throw heldError(`thread ${JSON.stringify(threadId)}`, hold);
}

async function holdOnPeopleIn(
  context: CheckpointContext,
  threadId: string,
  holds: ActiveHolds,
): Promise<LegalHold | undefined> {
  if (!holds.hasPeople) return undefined;
  const tail = await new Thread(context, threadId, "hold").tail();
  if (tail === undefined) return undefined;
  let met: LegalHold | undefined;
  const isHeld: Keeps = (subject) => {
    const hold = holds.onPerson(subject);
    met ??= hold;
    return hold !== undefined;
  };
  const { found } = await lookInto(context, threadId, codecOf(tail.thread), isHeld);
  return found.length > 0 ? met : undefined;
}

function holdsIn(state: AgentState | undefined): readonly LegalHold[] {
  const stored = Object.entries(state?.metadata ?? {}).filter(([name]) => name.startsWith(KEY));
  const holds = stored.map(([, value]) => holdFrom(value));
  return holds.sort((a, b) => (a.placedAt < b.placedAt ? -1 : 1));
}

/**
 * A hold that was just written also counts for removals in flight. Each of those reads
 * the place of its thread, then the holds, and is carried out only at that place. So
 * every thread that the hold keeps gets a record which says only that a hold was
 * placed: a removal that read the place before it is refused by the storage, and one
 * that read it afterwards sees the hold. What is written to a thread meanwhile, or to a
 * new one, came after the hold and needs no mark.
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
  const codec = codecOf(tail.thread);
  try {
    const looked = await index.noting(threadId, tail, isPerson, (noted) => lookInto(context, threadId, codec, noted));
    return looked.found.length > 0;
  } catch (error) {
    // It may be.
    if (isUnreadable(error)) return true;
    throw error;
  }
}
