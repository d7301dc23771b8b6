import fc from "fast-check";
import { expect, test } from "vitest";
import { exactForm } from "../../../test/exact-form.ts";
import { runs } from "../../../test/property-seed.ts";
import { decodeText, decodeValue, encodeText, encodeValue, jsonText } from "./codec.ts";
import { immutableCopy } from "./doorway.ts";

/** Any sequence of UTF-16 code units, so that halves of pairs, U+0000 and U+2028 occur. */
const text = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  maxLength: 8,
});

const key = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("$", "v", "__proto__", "constructor", "toJSON", "0", "10", "-1", "") },
  { weight: 2, arbitrary: text },
);

const leaf = fc.oneof(
  fc.constantFrom(null, undefined, true, false, Number.NaN, -0, 0, Number.POSITIVE_INFINITY, "undefined", "map"),
  text,
  fc.double(),
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array({ maxLength: 6 }),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
);

/** Everything the codec promises to keep, and nothing else. */
const storable = fc.letrec<{ value: unknown }>((tie) => {
  const value = tie("value");
  const entries = fc.array(fc.tuple(key, value), { maxLength: 4 });
  return {
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc.array(value, { maxLength: 4 }),
      entries.map((pairs) => withOwnKeys({}, pairs)),
      entries.map((pairs) => withOwnKeys(Object.create(null), pairs)),
      fc.array(fc.tuple(value, value), { maxLength: 3 }).map((pairs) => new Map(pairs)),
      fc.array(value, { maxLength: 3 }).map((items) => new Set(items)),
    ),
  };
}).value;

function withOwnKeys(target: object, pairs: readonly (readonly [string, unknown])[]): object {
  for (const [name, value] of pairs) {
    Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
  }
  return target;
}

test("every storable value survives text and tree exactly", () => {
  const property = fc.property(storable, (value) => {
    const expected = exactForm(value);
    expect(exactForm(decodeText(encodeText(value, "value"), "value"))).toBe(expected);
    expect(exactForm(decodeValue(encodeValue(value, "value"), "value"))).toBe(expected);
  });
  fc.assert(property, runs(10_000));
});

test("encoding is stable: what was decoded encodes to the same text", () => {
  const property = fc.property(storable, (value) => {
    const once = encodeText(value, "value");
    expect(encodeText(decodeText(once, "value"), "value")).toBe(once);
  });
  fc.assert(property, runs(2_000));
});

test("different values have different texts", () => {
  const property = fc.property(storable, storable, (a, b) => {
    expect(encodeText(a, "value") === encodeText(b, "value")).toBe(exactForm(a) === exactForm(b));
  });
  fc.assert(property, runs(2_000));
});

test("an owned copy equals its source, is frozen, and is never copied again", () => {
  const property = fc.property(storable, (value) => {
    const copy = immutableCopy(value, "value");
    expect(exactForm(copy)).toBe(exactForm(value));
    expect(immutableCopy(copy, "value")).toBe(copy);
    if (typeof copy === "object" && copy !== null && !(copy instanceof Uint8Array)) {
      expect(Object.isFrozen(copy)).toBe(true);
    }
  });
  fc.assert(property, runs(2_000));
});

test("any JSON at all is read as data or refused with a typed error", () => {
  const tagged = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      fc.jsonValue(),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.record({
        $: fc.oneof(fc.constantFrom("map", "set", "date", "bare", "object", "bigint", "number", "bytes"), text),
        v: tie("tree"),
      }),
    ),
  })).tree;
  const property = fc.property(tagged, (tree) => {
    try {
      decodeText(JSON.stringify(tree), "value");
    } catch (error) {
      expect(["CORRUPT", "INCOMPATIBLE"]).toContain((error as { code?: string }).code);
    }
  });
  fc.assert(property, runs(5_000));
});

test("the text of a tree is the one that JSON.stringify gives", () => {
  fc.assert(
    fc.property(storable, (value) => {
      const tree = encodeValue(value, "value");
      expect(jsonText(tree)).toBe(JSON.stringify(tree));
    }),
    runs(400),
  );
});

test("every character is written as JSON.stringify writes it", () => {
  for (let code = 0; code <= 0xffff; code++) {
    const text = `a${String.fromCharCode(code)}b`;
    if (jsonText(text) !== JSON.stringify(text)) expect.fail(`U+${code.toString(16)}`);
  }
});
