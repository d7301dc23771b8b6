import { setTimeout } from "node:timers/promises";

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

/**
 * Applies `work` to items that are still being found, in waves: when all of one are
 * done, it rests for `rest()` times as long as they took, and the next one begins. So what
 * travels together stays together, and others get their turn. Whatever fails, it
 * returns only when everything that began has ended.
 */
export async function inWaves<Item>(
  found: AsyncIterable<Item>,
  work: (item: Item) => Promise<void>,
  { atOnce, rest = () => 0 }: { readonly atOnce: number; readonly rest?: () => number },
): Promise<void> {
  const items = found[Symbol.asyncIterator]();
  try {
    for (let isLast = false; !isLast; ) {
      const begun = performance.now();
      const wave: Item[] = [];
      while (wave.length < atOnce && !isLast) {
        const next = await items.next();
        if (next.done === true) isLast = true;
        else wave.push(next.value);
      }
      const ends = await Promise.allSettled(wave.map(work));
      for (const end of ends) if (end.status === "rejected") throw end.reason;
      const restMs = isLast ? 0 : (performance.now() - begun) * rest();
      if (restMs > 0) await setTimeout(Math.min(restMs, LONGEST_REST_MS));
    }
  } finally {
    await items.return?.();
  }
}

/** However slow a wave was: it may have waited for something that has nothing to do with it. */
const LONGEST_REST_MS = 100;

/**
 * A reading that concurrent callers share. It begins after each of them asked, so no
 * caller gets an answer that is older than the question.
 */
export function sharedReading<T>(read: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined;
  let underWay: Promise<unknown> = Promise.resolve();
  const begin = (): Promise<T> => {
    next = undefined;
    const reading = read();
    underWay = reading;
    return reading;
  };
  return () => {
    next ??= underWay.then(begin, begin);
    return next;
  };
}

/**
 * Work that seldom has to wait. It is written as a generator, which hands over what it waits for by `yield* awaited(…)`:
 * the result is there at once where it did not, and no other work comes between.
 */
export type Steps<Result> = Generator<Promise<unknown>, Result, unknown>;

export function* awaited<Value>(promise: Promise<Value>): Steps<Value> {
  return (yield promise) as Value;
}

export function atOnce<Result>(steps: Steps<Result>): Result | Promise<Result> {
  const first = steps.next();
  return first.done === true ? first.value : rest(steps, first.value);
}

async function rest<Result>(steps: Steps<Result>, waited: Promise<unknown>): Promise<Result> {
  for (let promise = waited; ; ) {
    const next = steps.next(await promise);
    if (next.done === true) return next.value;
    promise = next.value;
  }
}
