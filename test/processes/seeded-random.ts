export interface SeededRandom {
  /** From 0 to just below 1. */
  next(): number;
  /** A whole number from 0 to just below `limit`. */
  below(limit: number): number;
}

/** The same numbers for the same seed, on every machine: what makes a random failure repeatable. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
  return { next, below: (limit) => Math.floor(next() * limit) };
}
