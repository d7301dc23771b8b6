import { describe, expect, test } from "vitest";
import { inBatches, parseBytes, parseTexts } from "./parse-together.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe("objects that are parsed together", () => {
  test("are what each is alone, in their order, whatever characters they hold", () => {
    const texts = ['{"a":1}', '{"b":"é €, {\\"x\\":[1]} \\u0000"}', "{}", '{"$":"bigint","v":"1"}'];
    const alone = texts.map((text) => JSON.parse(text) as unknown);
    expect(parseTexts(texts)).toEqual(alone);
    expect(parseBytes(texts.map(bytes))).toEqual(alone);
  });

  test("are refused together if one of them is cut off, is empty, is two, or is no object", () => {
    for (const damaged of ['{"a":1', "", '{"a":1},{"b":2}', '"}', "[{}]", '{"a"}', "null"]) {
      const texts = ['{"first":1}', damaged, '{"last":1}'];
      expect(parseTexts(texts), damaged).toBeUndefined();
      expect(parseBytes(texts.map(bytes)), damaged).toBeUndefined();
    }
  });
});

test("batches hold every item once and in order, and an item that is larger than a batch has one of its own", () => {
  const sizes = [10, 40_000, 30_000, 1, 1_000_000, 2, 64 * 1024, 3];
  const batches = [...inBatches(sizes, (size) => size)];
  expect(batches.flat()).toEqual(sizes);
  expect(batches.find((batch) => batch.includes(1_000_000))).toEqual([1_000_000]);
  for (const batch of batches) {
    expect(batch.length === 1 || batch.reduce((sum, size) => sum + size, 0) <= 64 * 1024).toBe(true);
  }
  expect([...inBatches([], () => 0)]).toEqual([]);
});

test("a text that fills more than a batch is left to be parsed alone", () => {
  expect(parseBytes([bytes(`{"a":"${"x".repeat(70_000)}"}`)])).toBeUndefined();
});
