import type { Memory, MemoryType } from "./memory.ts";

const DAY = 86_400_000;

/**
 * After this many days without being said or used, a memory counts half. What a user is and wants does not age by
 * itself.
 */
export type HalfLives = Readonly<Record<MemoryType, number>>;

export const HALF_LIFE_DAYS: HalfLives = { user: Infinity, feedback: Infinity, project: 90, reference: 180 };

/** How much a memory counts by age and use, whatever it is asked about: 1 for one that was just said. */
export function worth(memory: Memory, now: number, halfLives: HalfLives): number {
  const age = Math.max(0, now - lastTouched(memory)) / DAY;
  const freshness = 0.5 ** (age / halfLives[memory.type]);
  return freshness * (1 + 0.05 * Math.log2(memory.seen + memory.uses));
}

export const lastTouched = ({ lastSeen, lastUsedAt }: Memory): number => Math.max(lastSeen.at, lastUsedAt);

/** For a week a memory counts as if it had been used often: nothing that was just learnt makes room for the next thing. */
const NEW_FOR = 7 * DAY;
const WORTH_OF_NEW = 1.2;

/** What to drop first: what no longer holds, then what counts least, then what was longest untouched. Never what is pinned. */
export function firstToDrop(memories: readonly Memory[], now: number, halfLives: HalfLives): readonly Memory[] {
  const rank = (memory: Memory): number => {
    if (memory.status === "ended") return -1;
    const value = worth(memory, now, halfLives);
    return now - memory.validFrom < NEW_FOR ? Math.max(value, WORTH_OF_NEW) : value;
  };
  return memories
    .filter(({ pinned }) => !pinned)
    .toSorted((a, b) => rank(a) - rank(b) || lastTouched(a) - lastTouched(b) || (a.id < b.id ? -1 : 1));
}
