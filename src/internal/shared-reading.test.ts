import { expect, test } from "vitest";
import { sharedReading } from "./shared-reading.ts";

test("those who ask at the same time share one reading, and it began after each of them asked", async () => {
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

test("a reading that fails fails for those who shared it, and the next one is made all the same", async () => {
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
