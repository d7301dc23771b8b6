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
