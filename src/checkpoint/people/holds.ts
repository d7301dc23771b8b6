import { StateError } from "../../errors.ts";
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
import { isGraphs } from "../record/thread-facts.ts";
import { loadNewest } from "../thread/loading.ts";
import { LostRaces } from "../thread/lost-races.ts";
import { saveState } from "../thread/saving.ts";
import { Thread } from "../thread/thread.ts";
import { type Keeps, lookInto } from "./people-in-thread.ts";

/**
 * Legal holds, in a thread of the package's own in the storage of what they
 * hold. They are read before each thread that something is taken from, and never
 * remembered: whoever places a hold need not know who is deleting just now.
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
  const { found } = await lookInto(context, threadId, isGraphs(tail.thread), isHeld);
  return found.length > 0 ? met : undefined;
}

function holdsIn(state: AgentState | undefined): readonly LegalHold[] {
  const stored = Object.entries(state?.metadata ?? {}).filter(([name]) => name.startsWith(KEY));
  const holds = stored.map(([, value]) => holdFrom(value));
  return holds.sort((a, b) => (a.placedAt < b.placedAt ? -1 : 1));
}
