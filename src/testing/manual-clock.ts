import { setTimeout as sleep } from "node:timers/promises";

/** A clock that stands still unless it is told otherwise. Hand `now` to the subject. */
export interface ManualClock {
  readonly now: () => number;
  /** May go back as well: nothing may depend on a clock's good behaviour. */
  readonly advance: (ms: number) => void;
}

export function manualClock(startsAt: number = Date.UTC(2026, 0, 1)): ManualClock {
  let time = startsAt;
  return {
    now: () => time,
    advance: (ms) => {
      time += ms;
    },
  };
}

/** What time it is for the subject. */
export const timeOf = ({ clock }: { readonly clock?: ManualClock }): number => clock?.now() ?? Date.now();

/** Lets `ms` pass for the subject: at once where it has a clock of its own. */
export async function passTime({ clock }: { readonly clock?: ManualClock }, ms: number): Promise<void> {
  if (clock === undefined) await sleep(ms);
  else clock.advance(ms);
}

/**
 * Makes something that ends after `ms`, and looks at it before its end. A slow machine may not get there in time, by a
 * clock that a test cannot move: then again, with something that ends later. Returns its name, and how long it was given.
 */
export async function livesBriefly(
  fixture: { readonly clock?: ManualClock },
  ms: number,
  makeAndLook: (name: string, ttlMs: number) => Promise<void>,
): Promise<{ readonly name: string; readonly ttlMs: number }> {
  for (let ttlMs = ms; ; ttlMs *= 4) {
    const [name, began] = [`ends after ${ttlMs} ms`, timeOf(fixture)];
    try {
      await makeAndLook(name, ttlMs);
      return { name, ttlMs };
    } catch (error) {
      const wasInTime = timeOf(fixture) - began < ttlMs;
      if (wasInTime || ttlMs > LONGEST_LIFE_MS) throw error;
    }
  }
}

/** A machine that is too slow for this proves nothing. */
const LONGEST_LIFE_MS = 60_000;
