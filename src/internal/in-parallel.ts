/**
 * Applies `work` to every item, a few at a time, and keeps the order: whenever
 * one is done, the next one begins. The bound keeps a storage from being flooded
 * and the process from running out of file handles. After a failure nothing new
 * begins.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  atOnce: number = AT_ONCE,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  let [next, failed] = [0, false];
  const takeTurns = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const at = next++;
      try {
        results[at] = await work(items[at] as Item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, takeTurns));
  return results;
}

/** The same for items that are still being found. Whatever fails, it returns only when everything that began has ended. */
export async function inParallelAsFound<Item>(
  found: AsyncIterable<Item>,
  work: (item: Item) => Promise<void>,
  atOnce: number = AT_ONCE,
): Promise<void> {
  const items = found[Symbol.asyncIterator]();
  let failed = false;
  const takeTurns = async (): Promise<void> => {
    while (!failed) {
      try {
        const next = await items.next();
        if (next.done === true) return;
        await work(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, takeTurns));
  await items.return?.();
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

export const AT_ONCE = 16;
