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

export const AT_ONCE = 16;
