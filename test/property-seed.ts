/**
 * One seed for all property tests of a run. It is printed, so that a failure
 * can be replayed: HOLDFAST_SEED=<seed> npx vitest run <file>
 */
const given = process.env["HOLDFAST_SEED"];

export const seed: number = given === undefined ? Date.now() % 0x7fffffff : Number(given);

let printed = false;

/** Parameters for `fc.assert`. */
export function runs(numRuns: number): { readonly seed: number; readonly numRuns: number } {
  if (!printed) console.log(`property tests use HOLDFAST_SEED=${seed}`);
  printed = true;
  return { seed, numRuns };
}
