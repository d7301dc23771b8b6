/**
 * What `work` makes of a list, a part at a time and some of those at once; the
 * results are in the order of the list. What fails ends it, when the parts that
 * were under way have ended.
 */
export async function inParts<Item, Result>(
  items: readonly Item[],
  { size, atOnce }: { readonly size: number; readonly atOnce: number },
  work: (part: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const results: (readonly Result[])[] = [];
  let [next, failed] = [0, false];
  const lane = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const from = next;
      next += size;
      try {
        results[from / size] = await work(items.slice(from, from + size));
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, lane));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return results.flat();
}
