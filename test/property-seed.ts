/**
 * One seed for all property tests of a run. It is printed, so that a failure
 * can be replayed: HOLDFAST_SEED=<seed> npx vitest run <file>
 */
const given = process.env["HOLDFAST_SEED"];

export const seed: number = given === undefined ? Date.now() % 0x7fffffff : Number(given);

let printed = false;

/** `npm test` takes a sample of what `npm run test:matrix` does in full: three minutes are for everything. */
const SAMPLE = process.env["HOLDFAST_TIER"] === "fast" ? 4 : 1;

/** Parameters for `fc.assert`. */
export function runs(numRuns: number): { readonly seed: number; readonly numRuns: number } {
  printSeed();
  return { seed, numRuns: Math.ceil(numRuns / SAMPLE) };
}

/** The numbers below `count`, or a sample of them: which one, the seed says. */
export function* places(count: number): Generator<number, void, undefined> {
  printSeed();
  for (let place = seed % SAMPLE; place < count; place += SAMPLE) yield place;
}

function printSeed(): void {
  if (!printed) console.log(`property tests use HOLDFAST_SEED=${seed}`);
  printed = true;
}
