import { expect, test } from "vitest";
import { inParallelAsFound, inWaves, sharedReading } from "./concurrency.ts";

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

async function* countingFrom1(count: number, failsAt?: number): AsyncGenerator<number, void, undefined> {
  for (let number = 1; number <= count; number++) {
    if (number === failsAt) throw new Error(`cannot find ${number}`);
    yield number;
  }
}

test("every item is met once, and no wave begins before the one before it has ended", async () => {
  const events: string[] = [];
  const work = async (number: number): Promise<void> => {
    events.push(`begin ${number}`);
    await new Promise(setImmediate);
    events.push(`end ${number}`);
  };
  await inWaves(countingFrom1(5), work, { atOnce: 2, rest: () => 0.5 });
  const wave = (...members: readonly number[]): readonly string[] => [
    ...members.map((number) => `begin ${number}`),
    ...members.map((number) => `end ${number}`),
  ];
  expect(events).toEqual([...wave(1, 2), ...wave(3, 4), ...wave(5)]);
});

test("how long it rests is asked when a wave has ended, and so may depend on what the wave did", async () => {
  const events: string[] = [];
  const work = async (number: number): Promise<void> => void events.push(`work ${number}`);
  const rest = (): number => {
    events.push("rest");
    return 0.5;
  };
  await inWaves(countingFrom1(3), work, { atOnce: 2, rest });
  expect(events).toEqual(["work 1", "work 2", "rest", "work 3"]);
});

test("after a failure the wave ends as a whole, and no other one begins", async () => {
  const ended: number[] = [];
  const work = async (number: number): Promise<void> => {
    if (number === 4) throw new Error("four");
    await new Promise(setImmediate);
    ended.push(number);
  };
  await expect(inWaves(countingFrom1(100), work, { atOnce: 3 })).rejects.toThrow("four");
  expect(ended).toEqual([1, 2, 3, 5, 6]);
});

test("what cannot be found fails it, and nothing of that wave begins", async () => {
  const begun: number[] = [];
  const work = async (number: number): Promise<void> => void begun.push(number);
  await expect(inWaves(countingFrom1(10, 6), work, { atOnce: 4 })).rejects.toThrow("cannot find 6");
  expect(begun).toEqual([1, 2, 3, 4]);
});

test("concurrent callers share one reading, which began after each of them asked", async () => {
  const begun: ((value: number) => void)[] = [];
  const read = sharedReading(() => new Promise<number>((resolve) => begun.push(resolve)));
  const first = [read(), read()];
  await Promise.resolve();
  await Promise.resolve();
  expect(begun).toHaveLength(1);
  const late = [read(), read()];
  begun[0]?.(1);
  expect(await Promise.all(first)).toEqual([1, 1]);
  await Promise.resolve();
  expect(begun).toHaveLength(2);
  begun[1]?.(2);
  expect(await Promise.all(late)).toEqual([2, 2]);
});

test("a failed reading fails for every caller that shared it, and the next one is made all the same", async () => {
  let readings = 0;
  const read = sharedReading(async () => {
    readings++;
    if (readings === 1) throw new Error("the first");
    return readings;
  });
  const first = [read(), read()];
  for (const asked of first) await expect(asked).rejects.toThrow("the first");
  expect(await read()).toBe(2);
});
