/** The middle value: one slow disk flush or a pause of the machine does not move it. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("the median of nothing");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * How many times `b` fits into `a`, found for each pair of neighbours, so that other load on the machine affects both.
 */
export const medianRatio = (a: readonly number[], b: readonly number[]): number =>
  median(a.map((value, index) => value / b[index]!));

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The value that this percentage of the values does not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) throw new RangeError("a percentile of nothing");
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)]!;
}
