import type { Forgets } from "../checkpoint/people/people-in-thread.ts";
import { Warnings } from "../driver/warnings.ts";
import { stillWritten, Tally, unreachable, unreachedIn } from "./erasure-findings.ts";
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

/**
 * The least number of looks. From the second on, a look finds only what was written in places that it had not
 * reached yet, and holds their writers off: it ends with the number of places, so its natural bound is time.
 */
const FEWEST_LOOKS = 5;
const LONGEST_CHASE_MS = 60_000;
/**
 * The least time for which writers are held off; a slow look holds them off for a multiple
 * of its duration.
 */
const LEAST_HOLDING_MS = 30_000;
const LOOKS_HELD = 4;

/**
 * Looks, erases, and looks again until nothing is found. `tally` has what was erased also where it fails. Writers that
 * it had to hold off stay so until the caller has them released, for what it writes down is true only until then.
 */
export async function eraseFrom(
  party: ErasureParty,
  forgets: Forgets,
  readHolds: ReadHolds,
  { acceptUnreached, scrubsAlways }: ErasingRule,
  tally: Tally = new Tally(party.name),
): Promise<ErasedFrom> {
  let [slowestMs, chaseBegan, isOutrun] = [0, 0, false];
  for (let look = 1; ; look++) {
    const began = performance.now();
    if (look === 2) chaseBegan = began;
    if (isOutrun) await party.holdOff?.(Math.max(LEAST_HOLDING_MS, LOOKS_HELD * slowestMs));
    const warnings = new Warnings();
    const found = await lookAndErase(party, forgets, readHolds, warnings, tally, look === 1);
    slowestMs = Math.max(slowestMs, performance.now() - began);
    if (warnings.count > 0 && !acceptUnreached) throw unreachable(party.name, warnings.list);
    const postponed = party.postponed?.() ?? 0;
    const isThrough = found === 0 && postponed === 0;
    if (isThrough && (!isOutrun || (await isUndisturbed(party)))) {
      const unreached = [...unreachedIn(warnings.list), ...party.unread()];
      const held = party.held();
      if (look === 1 && !scrubsAlways) return { place: tally.place, unreached, held };
      const { done, remains } = await party.scrub();
      return { place: { ...tally.place, cleaned: done, remains }, unreached, held };
    }
    // What the second look finds was written behind the first, and something is written behind this one.
    isOutrun ||= look > 1 || postponed > 0;
    const isOver = party.holdOff === undefined || performance.now() - chaseBegan > LONGEST_CHASE_MS;
    if (look >= FEWEST_LOOKS && isOver) throw stillWritten(party.name, look);
  }
}

/**
 * Where writers cannot be held off, a look that found nothing is as good as it gets.
 */
const isUndisturbed = async (party: ErasureParty): Promise<boolean> => (await party.isHoldingOff?.()) ?? true;

/** One pass over everything that a party keeps. Returns how much it found. */
async function lookAndErase(
  party: ErasureParty,
  forgets: Forgets,
  readHolds: ReadHolds,
  warnings: Warnings,
  tally: Tally,
  isFirst: boolean,
): Promise<number> {
  let found = 0;
  for await (const places of party.find(forgets, warnings, readHolds, isFirst)) {
    if (places.length === 0) continue;
    found += places.length;
    tally.records += await party.erase(places, forgets, readHolds);
    tally.add(places);
  }
  return found;
}
