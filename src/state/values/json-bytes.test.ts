import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/property-seed.ts";
import type { JsonValue } from "./codec.ts";
import { jsonBytes } from "./json-bytes.ts";

const expected = (tree: JsonValue): Buffer => Buffer.from(JSON.stringify(tree), "utf8");

/** Printable characters mostly, and each kind that JSON or UTF-8 treats in its own way. */
const unit = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
  { weight: 2, arbitrary: fc.constantFrom(0x0a, 0x22, 0x5c, 0x09, 0x0d) },
  { weight: 1, arbitrary: fc.constantFrom(0, 0x0b, 0x1f, 0x7f, 0xe9, 0x6f22, 0x2028, 0xd83d, 0xde00, 0xfffd) },
);
const textOf = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(unit, { maxLength }).map((units) => String.fromCharCode(...units));
const text = fc.oneof(textOf(12), textOf(400));

const tree = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
    fc.constantFrom(null, true, false, 0, 1e21, 5e-324, Number.MAX_SAFE_INTEGER),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(fc.oneof(fc.constantFrom("__proto__", "toJSON", "10", "2", ""), text), tie("value"), { maxKeys: 5 }),
  ),
})).value;

test("the bytes of a tree are those of JSON.stringify in UTF-8", () => {
  fc.assert(
    fc.property(tree, (value) => {
      expect(jsonBytes(value)?.toString("latin1")).toBe(expected(value).toString("latin1"));
    }),
    runs(400),
  );
});

test("every character, alone and within a long text, is written as JSON.stringify writes it", () => {
  for (let code = 0; code <= 0xffff; code++) {
    const character = String.fromCharCode(code);
    if (!jsonBytes(character)?.equals(expected(character))) expect.fail(`U+${code.toString(16)}, alone`);
    const within = `${"a".repeat(40)}${character}${"b".repeat(40)}`;
    if (!jsonBytes(within)?.equals(expected(within))) expect.fail(`U+${code.toString(16)}, in a text`);
  }
});

test("a text of any length is written in full, or left to JSON.stringify", () => {
  for (const character of ["a", "\n", "é", "漢", "\ud800", "\u0001"]) {
    let left = 0;
    for (let length = 0; length < 40_000; length += 389) {
      for (const value of [character.repeat(length), ["x".repeat(30_000), { key: character.repeat(length) }]]) {
        const bytes = jsonBytes(value);
        if (bytes === undefined) left++;
        else if (!bytes.equals(expected(value))) expect.fail(`${length} of ${JSON.stringify(character)}`);
      }
    }
    expect(left).toBeGreaterThan(0);
  }
});

test("many small parts that do not fit are left to JSON.stringify", () => {
  for (const count of [1, 100, 4000, 8000, 16_000, 32_000, 70_000]) {
    for (const part of [1, "ab", {}, [], { a: null }, [[1]]] as const) {
      const value = Array.from({ length: count }, () => part);
      const bytes = jsonBytes(value);
      if (bytes !== undefined) expect(bytes.equals(expected(value))).toBe(true);
      else expect(expected(value).length).toBeGreaterThan(16_000);
    }
  }
});

test("the ends of lists and objects within one another fit, or are left to JSON.stringify", () => {
  let left = 0;
  for (let before = 28_000; before < 32 * 1024; before += 61) {
    let value: JsonValue = "x".repeat(before / 3);
    value = [value, value, "x".repeat(before % 3)];
    for (let depth = 0; depth < 1500; depth++) value = depth % 2 === 0 ? [value] : { a: value };
    const bytes = jsonBytes(value);
    if (bytes === undefined) left++;
    else if (!bytes.equals(expected(value))) expect.fail(`${before} characters before`);
  }
  for (let count = 14_500; count < 16_500; count += 31) {
    let value: JsonValue = Array.from({ length: count }, () => 1);
    value = [...value, value.slice(0, 100)];
    for (let depth = 0; depth < 1000; depth++) value = [value];
    const bytes = jsonBytes(value);
    if (bytes !== undefined && !bytes.equals(expected(value))) expect.fail(`${count} numbers`);
  }
  expect(left).toBeGreaterThan(0);
});

test("the bytes of one tree are not those of the next", () => {
  const first = jsonBytes({ a: "one" });
  jsonBytes({ b: "two" });
  expect(first?.toString()).toBe('{"a":"one"}');
});
