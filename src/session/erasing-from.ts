import type { Forgets } from "../checkpoint/people-in-thread.ts";
import { Warnings } from "../driver/warnings.ts";
import { MOST_LOOKS, stillWritten, Tally, unreachable, unreachedIn } from "./erasure-findings.ts";
import type { ErasureParty, ReadHolds } from "./erasure-party.ts";
import type { ErasedPlace, HeldBack, Unreached } from "./receipts.ts";

export interface ErasingRule {
  readonly acceptUnreached: boolean;
  /** An earlier attempt may have erased something and failed before scrubbing. */
  readonly scrubsAlways: boolean;
}

export interface ErasedFrom {
  readonly place: ErasedPlace;
  readonly unreached: readonly Unreached[];
  readonly held: readonly HeldBack[];
}

/** Looks, erases, and looks again until nothing is found. `tally` has what was erased also where it fails. */
export async function eraseFrom(
  party: ErasureParty,
  forgets: Forgets,
  readHolds: ReadHolds,
  { acceptUnreached, scrubsAlways }: ErasingRule,
  tally: Tally = new Tally(party.name),
): Promise<ErasedFrom> {
  let isHeldOff = false;
  try {
    for (let look = 1; ; look++) {
      const warnings = new Warnings();
      const found = await lookAndErase(party, forgets, readHolds, warnings, tally);
      if (warnings.count > 0 && !acceptUnreached) throw unreachable(party.name, warnings.list);
      const unreached = [...unreachedIn(warnings.list), ...party.unread()];
      const held = party.held();
      if (found === 0) {
        if (look === 1 && !scrubsAlways) return { place: tally.place, unreached, held };
        const { done, remains } = await party.scrub();
        return { place: { ...tally.place, cleaned: done, remains }, unreached, held };
      }
      if (look === MOST_LOOKS) throw stillWritten(party.name);
      // A second look may find copies of copies, which no number of looks catches up with.
      if (look < 2 || party.holdOffCopies === undefined) continue;
      await party.holdOffCopies(true);
      isHeldOff = true;
    }
  } finally {
    // A hold that cannot be released expires by itself, and must not hide the outcome of the erasure.
    if (isHeldOff) await party.holdOffCopies?.(false).catch(() => undefined);
  }
}

/** One pass over everything that a party keeps. Returns how much it found. */
async function lookAndErase(
  party: ErasureParty,
  forgets: Forgets,
  readHolds: ReadHolds,
  warnings: Warnings,
  tally: Tally,
): Promise<number> {
  let found = 0;
  for await (const places of party.find(forgets, warnings, readHolds)) {
    if (places.length === 0) continue;
    found += places.length;
    tally.records += await party.erase(places, forgets, readHolds);
    tally.add(places);
  }
  return found;
}
