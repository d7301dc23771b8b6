import { expect, test } from "vitest";
import { OpenOnce } from "./open-once.ts";

test("every caller gets the same object, opened once", async () => {
  let times = 0;
  const once = new OpenOnce(async () => ++times);
  expect(await once.opened()).toBeUndefined();
  expect(await Promise.all([once.get(), once.get()])).toEqual([1, 1]);
  expect(await once.opened()).toBe(1);
});

test("a failure is forgotten, and the next who asks tries again", async () => {
  let times = 0;
  const once = new OpenOnce(async () => {
    times++;
    if (times === 1) throw new Error("away");
    return times;
  });
  await expect(once.get()).rejects.toThrow("away");
  expect(await once.opened()).toBeUndefined();
  expect(await once.get()).toBe(2);
  once.forget();
  expect(await once.get()).toBe(3);
});
