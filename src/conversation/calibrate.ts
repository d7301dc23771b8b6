/** Outside of these a report is about something else than the request, and not a measure of our estimate. */
const LEAST = 0.25;
const MOST = 4;
/** What is stored moves only when it is this far off: it is written with the thread. */
const STEP = 0.05;
/** How much one report counts against all before it. */
const WEIGHT = 0.4;

/**
 * How many tokens a model counts for one that was estimated, learnt from what it
 * reports: it covers the tokenizer, the tools' schemas and the provider's own
 * additions. `undefined` if the current ratio stands.
 */
export function calibrate(known: number | null, estimated: number, reported: number): number | undefined {
  if (!(reported > 0) || !(estimated > 0)) return undefined;
  const measured = reported / estimated;
  if (measured < LEAST || measured > MOST) return undefined;
  const next = known === null ? measured : known * (1 - WEIGHT) + measured * WEIGHT;
  const rounded = Math.round(next * 1000) / 1000;
  return known !== null && Math.abs(rounded / known - 1) < STEP ? undefined : rounded;
}
