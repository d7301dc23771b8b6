import { expect, test } from "vitest";
import { inParallelAsFound } from "./in-parallel.ts";

async function* numbers(count: number, failAt?: number): AsyncGenerator<number, void, undefined> {
  for (let at = 0; at < count; at++) {
    if (at === failAt) throw new Error(`cannot find ${at}`);
    yield at;
  }
}

test("everything that is found is worked on once, and never more at once than was said", async () => {
  const met: number[] = [];
  let [now, most] = [0, 0];
  const work = async (item: number): Promise<void> => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    met.push(item);
    now--;
  };
  await inParallelAsFound(numbers(50), work, 4);
  expect(met.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, at) => at));
  expect(most).toBe(4);
});

test("after a failure nothing new begins, and what began has ended when it is told", async () => {
  let [begun, ended] = [0, 0];
  const work = async (item: number): Promise<void> => {
    begun++;
    if (item === 3) throw new Error("three");
    await new Promise((resolve) => setImmediate(resolve));
    ended++;
  };
  await expect(inParallelAsFound(numbers(1000), work, 4)).rejects.toThrow("three");
  expect(begun).toBeLessThan(20);
  expect(ended).toBe(begun - 1);
});

test("a search that fails is told after what it had found was worked on", async () => {
  const met: number[] = [];
  const work = async (item: number): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    met.push(item);
  };
  await expect(inParallelAsFound(numbers(10, 6), work, 3)).rejects.toThrow("cannot find 6");
  expect(met).toHaveLength(6);
});
