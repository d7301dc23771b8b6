import { expect, test } from "vitest";
import { holdfast, NOW } from "../../test/cli/fake-world.ts";
import { filledStore } from "../../test/cli/filled-stores.ts";
import { Counting, progressLine } from "./transfer/progress-bar.ts";

test("the line of a copy has a bar, the speed and the time that is left as soon as the threads are counted", () => {
  const state = { done: 41_207, total: 58_113, bytes: 3_100_000_000, elapsedMs: 240_000 };
  expect(progressLine("copying", state)).toBe(
    "copying  ━━━━━━━━━━━─────  41,207 / 58,113 threads  3.1 GB  13 MB/s  2 min left",
  );
  expect(progressLine("copying", { ...state, total: undefined })).toBe("copying  41,207 threads  3.1 GB  13 MB/s");
  expect(progressLine("copying", { ...state, total: 41_000 }), "more came meanwhile").not.toContain("━");
  expect(progressLine("copying", { done: 0, total: 0, bytes: 0, elapsedMs: 0 })).toContain("0 / 0 threads");
  expect(progressLine("copying", { done: 1, total: 2, bytes: 5, elapsedMs: 10 })).not.toContain("left");
});

test("what cannot be counted has no total, and a count that is no longer wanted ends", async () => {
  async function* broken(): AsyncGenerator<number> {
    yield 1;
    throw new Error("gone");
  }
  const failed = new Counting(broken());
  await failed.end();
  expect(failed.total).toBe(undefined);
  let given = 0;
  async function* endless(): AsyncGenerator<number> {
    for (;;) yield await Promise.resolve(++given);
  }
  const unwanted = new Counting(endless());
  await unwanted.end();
  expect(unwanted.total).toBe(undefined);
});

test("copy shows its progress on a terminal alone, on one line that is gone at the end", async () => {
  const store = await filledStore("many");
  let now = NOW;
  const ticking = () => (now += 300);
  const to = `sqlite:${store.directory}/new.db`;
  const { code, stderr } = await holdfast(["copy", store.url, to], { terminal: true, now: ticking });
  expect(code).toBe(0);
  const shown = stderr.split("\r\u001b[K").filter((text) => text !== "");
  expect(shown.length).toBeGreaterThan(10);
  for (const line of shown) expect(line).toMatch(/^copying {2}(\d+ threads?|[━─]{16} {2}\d+ \/ 60 threads) {2}/);
  expect(stderr.endsWith("\r\u001b[K")).toBe(true);
  const again = await holdfast(["copy", store.url, to], { now: ticking });
  expect(again.stderr).not.toMatch(/[\r━]/);
  await store.dispose();
});
