import { expect, test } from "vitest";
import { inParts } from "./in-parts.ts";

const numbers = Array.from({ length: 25 }, (_, index) => index);

test("results are in the order of the list, however the parts end, and no more are under way than may be", async () => {
  let [underWay, most] = [0, 0];
  const doubled = await inParts(numbers, { size: 4, atOnce: 3 }, async (part) => {
    most = Math.max(most, ++underWay);
    for (let turn = 0; turn < 10 - (part[0] ?? 0) / 4; turn++) await undefined;
    underWay--;
    return part.map((each) => each * 2);
  });
  expect(doubled).toEqual(numbers.map((each) => each * 2));
  expect(most).toBe(3);
  expect(await inParts([], { size: 4, atOnce: 3 }, async () => [1])).toEqual([]);
});

test("a part that fails ends it, and nothing is begun after that", async () => {
  let begun = 0;
  const failing = inParts(numbers, { size: 1, atOnce: 2 }, async ([item]) => {
    begun++;
    await undefined;
    if (item === 3) throw new Error("the third");
    return [];
  });
  await expect(failing).rejects.toThrow("the third");
  expect(begun).toBeLessThan(7);
});
