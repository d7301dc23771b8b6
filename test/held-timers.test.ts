import { expect, test, vi } from "vitest";
import { HELD_MS, HeldTimers } from "./held-timers.ts";

test("a timer of the held length fires when the test says so, with what it was given; others fire by themselves", async () => {
  const timers = HeldTimers.forThisTest(5);
  const heard: string[] = [];
  const hear = (word: string): void => void heard.push(word);
  setTimeout(hear, 5, "held");
  await new Promise<void>((resolve) => setTimeout(resolve, 20));
  expect(heard).toEqual([]);
  await timers.untilOneWaits();
  timers.expire();
  timers.expire();
  expect(heard).toEqual(["held"]);
});

test("one that was cleared does not fire", () => {
  const timers = HeldTimers.forThisTest();
  const fired = vi.fn();
  const timer = setTimeout(fired, HELD_MS);
  clearTimeout(timer);
  timers.expire();
  expect(fired).not.toHaveBeenCalled();
});

test("once they are released, timers are as they were", () => {
  const before = [globalThis.setTimeout, globalThis.clearTimeout];
  const timers = new HeldTimers();
  expect(globalThis.setTimeout).not.toBe(before[0]);
  timers.release();
  expect([globalThis.setTimeout, globalThis.clearTimeout]).toEqual(before);
});
