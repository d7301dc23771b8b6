import { expect, test } from "vitest";
import { inWaves } from "./in-waves.ts";

async function* numbers(count: number, failsAt?: number): AsyncGenerator<number, void, undefined> {
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
  await inWaves(numbers(5), work, { atOnce: 2, rest: () => 0.5 });
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
  await inWaves(numbers(3), work, { atOnce: 2, rest });
  expect(events).toEqual(["work 1", "work 2", "rest", "work 3"]);
});

test("after a failure the wave ends as a whole, and no other one begins", async () => {
  const ended: number[] = [];
  const work = async (number: number): Promise<void> => {
    if (number === 4) throw new Error("four");
    await new Promise(setImmediate);
    ended.push(number);
  };
  await expect(inWaves(numbers(100), work, { atOnce: 3 })).rejects.toThrow("four");
  expect(ended).toEqual([1, 2, 3, 5, 6]);
});

test("what cannot be found fails it, and nothing of that wave begins", async () => {
  const begun: number[] = [];
  const work = async (number: number): Promise<void> => void begun.push(number);
  await expect(inWaves(numbers(10, 6), work, { atOnce: 4 })).rejects.toThrow("cannot find 6");
  expect(begun).toEqual([1, 2, 3, 4]);
});
