import { describe, expect, test } from "vitest";
import { inBatches, parseBytes, parseInsides, parseTexts } from "./chain.ts";

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

describe("lists that are parsed as one", () => {
  const outside = { begin: bytes('{"list":['), end: bytes("]}") };
  const insides = (...texts: readonly string[]): unknown => parseInsides(texts.map(bytes), outside);

  test("hold the items of all of them, in their order", () => {
    expect(insides('{"list":[1,{"a":"],[é\\"]}"}]}', '{"list":[[2]]}')).toEqual([1, { a: '],[é"]}' }, [2]]);
  });

  test("are refused if one of them is empty, ends early, or stands in something else", () => {
    for (const other of [
      '{"list":[]}',
      '{"list":[1],"more":[2]}',
      '{"list":[[1],"more",[2]],"list":[3]}',
      '{"lists":[1]}',
      '{"list":[1]} ',
      '{"list":[1',
      "",
      '{"list":{"a":[1]}}',
    ]) {
      expect(insides('{"list":["first"]}', other, '{"list":["last"]}'), other).toBeUndefined();
    }
    expect(insides(`{"list":["${"x".repeat(70_000)}"]}`)).toBeUndefined();
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
