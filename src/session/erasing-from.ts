import type { Forgets } from "../checkpoint/people-in-thread.ts";
import { Warnings } from "../driver/warnings.ts";
import { MOST_LOOKS, stillWritten, Tally, unreachable, unreachedIn } from "./erasure-findings.ts";
import type { ErasureParty } from "./erasure-party.ts";
import type { ErasedPlace, HeldBack, Unreached } from "./receipts.ts";

export interface ErasingRule {
  readonly acceptUnreached: boolean;
  /** An earlier attempt may have erased something and not come to the scrubbing. */
  readonly scrubsAlways: boolean;
}

export interface ErasedFrom {
  readonly place: ErasedPlace;
  readonly unreached: readonly Unreached[];
  readonly held: readonly HeldBack[];
}

/** Looks, erases, and looks again until nothing is found. */
export async function eraseFrom(
  party: ErasureParty,
  forgets: Forgets,
  { acceptUnreached, scrubsAlways }: ErasingRule,
): Promise<ErasedFrom> {
  const tally = new Tally(party.name);
  let isHeldOff = false;
  try {
    for (let look = 1; ; look++) {
      const warnings = new Warnings();
      const found = await lookAndErase(party, forgets, warnings, tally);
      if (warnings.count > 0 && !acceptUnreached) throw unreachable(party.name, warnings.list);
      const unreached = [...unreachedIn(warnings.list), ...party.unread()];
      const held = party.held();
      if (found === 0) {
        if (look === 1 && !scrubsAlways) return { place: tally.place, unreached, held };
        const { done, remains } = await party.scrub();
        return { place: { ...tally.place, cleaned: done, remains }, unreached, held };
      }
      if (look === MOST_LOOKS) throw stillWritten(party.name);
      // What a second look finds may be copies of copies, which no look catches up with.
      if (look < 2 || party.holdOffCopies === undefined) continue;
      await party.holdOffCopies(true);
      isHeldOff = true;
    }
  } finally {
    // What cannot be let go of ends by itself, and must not hide how the erasure went.
    if (isHeldOff) await party.holdOffCopies?.(false).catch(() => undefined);
  }
}

/** One look at everything that a party keeps. Says how much it found. */
async function lookAndErase(party: ErasureParty, forgets: Forgets, warnings: Warnings, tally: Tally): Promise<number> {
  let found = 0;
  for await (const places of party.find(forgets, warnings)) {
    found += places.length;
    tally.add(places);
    if (places.length > 0) tally.records += await party.erase(places, forgets);
  }
  return found;
}
