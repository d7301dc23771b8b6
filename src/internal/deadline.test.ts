import { expect, test } from "vitest";
import { withDeadline } from "./deadline.ts";
import { sleep } from "./sleep.ts";

test("what is done in time is returned, and its signal never aborts", async () => {
  let seen: AbortSignal | undefined;
  const result = await withDeadline(10, undefined, async (signal) => {
    seen = signal;
    return "done";
  });
  await sleep(30);
  expect([result, seen?.aborted]).toEqual(["done", false]);
});

test("what takes longer is aborted with a TimeoutError", async () => {
  const work = withDeadline(5, undefined, (signal) => sleep(60_000, signal));
  await expect(work).rejects.toMatchObject({ name: "TimeoutError" });
});

test("an outer signal aborts it, before or while it runs, with its own reason", async () => {
  const outer = new AbortController();
  const work = withDeadline(60_000, outer.signal, (signal) => sleep(60_000, signal));
  outer.abort(new Error("enough"));
  await expect(work).rejects.toThrow("enough");
  await expect(withDeadline(60_000, outer.signal, (signal) => sleep(60_000, signal))).rejects.toThrow("enough");
});
