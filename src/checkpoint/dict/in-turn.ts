/** By storage and not by adapter: two adapters in one process may share a storage. */
const queues = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Runs `work` after all earlier work on the same key of the same storage. This
 * keeps a process from overtaking itself if the storage cannot compare; it does
 * nothing against another process.
 */
export async function inTurn<T>(storage: object, key: string, work: () => Promise<T>): Promise<T> {
  const queue = queues.get(storage) ?? new Map<string, Promise<unknown>>();
  queues.set(storage, queue);
  const before = queue.get(key) ?? Promise.resolve();
  const turn = before.then(work, work);
  queue.set(key, turn);
  try {
    return await turn;
  } finally {
    if (queue.get(key) === turn) queue.delete(key);
  }
}
