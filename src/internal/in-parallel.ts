/**
 * Applies `work` to every item, a few at a time, and keeps the order. The bound
 * keeps a storage from being flooded and the process from running out of file
 * handles.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))));
  }
  return results;
}

export const AT_ONCE = 16;
