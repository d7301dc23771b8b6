import { setTimeout } from "node:timers/promises";

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
