/**
 * Does the work for every item, a limited number at once. After a failure no new item is begun, and those in flight are
 * waited for.
 */
export async function inJobs<Item>(
  items: AsyncIterable<Item>,
  jobs: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  // A generator hands its items out one by one, however many ask.
  const iterator = items[Symbol.asyncIterator]();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    try {
      while (failures.length === 0) {
        const next = await iterator.next();
        if (next.done === true) return;
        await work(next.value);
      }
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  await iterator.return?.();
  if (failures.length > 0) throw failures[0];
}
