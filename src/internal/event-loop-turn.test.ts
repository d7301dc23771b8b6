import { expect, test } from "vitest";
import { endOfLongTurn } from "./event-loop-turn.ts";

test("a loop of awaits that never really waits still lets timers fire", async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const giveUp = performance.now() + 60_000;
  while (ticks < 3 && performance.now() < giveUp) {
    const pause = endOfLongTurn();
    if (pause !== undefined) await pause;
    await undefined;
  }
  clearInterval(timer);
  expect(ticks).toBe(3);
});

test("a turn that has just begun is not ended", async () => {
  await new Promise((resolve) => setImmediate(resolve));
  expect(endOfLongTurn()).toBeUndefined();
});
