/** The name that somebody who wrote `given` most likely meant, if any: two keys off at most. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: distance(given.toLowerCase(), name.toLowerCase()) }))
    .filter((candidate) => candidate.distance <= Math.min(2, candidate.name.length / 3))
    .sort((one, other) => one.distance - other.distance);
  return ranked[0]?.name;
}

/** Letters to add, to take out or to change. */
function distance(from: string, to: string): number {
  // Options are short; whatever is much longer is no misspelt one.
  if (Math.abs(from.length - to.length) > 2) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [at, other] of [...to].entries()) {
      const [left = 0, above = 0, across = 0] = [next[at], row[at + 1], row[at]];
      next.push(Math.min(left + 1, above + 1, across + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
