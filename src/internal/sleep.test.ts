import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { sleep } from "./sleep.ts";

test("it resolves", async () => {
  expect(await sleep(1)).toBeUndefined();
});

test("a signal that is aborted already rejects with its reason and waits for nothing", async () => {
  const reason = new Error("no longer needed");
  await expect(sleep(600_000, AbortSignal.abort(reason))).rejects.toBe(reason);
});

test("a signal that aborts meanwhile rejects with its reason", async () => {
  const controller = new AbortController();
  const slept = sleep(600_000, controller.signal);
  controller.abort("enough");
  await expect(slept).rejects.toBe("enough");
});

test("a signal used for many naps keeps no listener of those that ended", async () => {
  const { signal } = new AbortController();
  for (let nap = 0; nap < 3; nap++) await sleep(1, signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
