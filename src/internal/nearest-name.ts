/** The known name that was most likely meant, or `undefined` if every name is too different. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const wanted = plain(given);
  const distances = known.map((name) => ({ name, distance: editDistance(wanted, plain(name)) }));
  const [best] = distances.sort((a, b) => a.distance - b.distance);
  if (best === undefined) return undefined;
  const isPart = wanted.length > 2 && plain(best.name).includes(wanted);
  return isPart || best.distance <= Math.max(1, wanted.length / 3) ? best.name : undefined;
}

/** `checkpoint_id` and `checkpointID` are `checkpointId`. */
const plain = (name: string): string =>
  name
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "");

/** The number of characters to add, remove or change. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [row, character] of [...a].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...b].entries()) {
      const changed = (above[column] ?? 0) + (character === other ? 0 : 1);
      current.push(Math.min(changed, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    above = current;
  }
  return above.at(-1) ?? 0;
}
