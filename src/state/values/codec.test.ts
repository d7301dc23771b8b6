import { describe, expect, test } from "vitest";
import { exactForm } from "../../../test/exact-form.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { decodeText, decodeValue, encodeText, encodeValue } from "./codec.ts";
import { SealedValue } from "./doorway.ts";

const roundTrip = (value: unknown): unknown => decodeText(encodeText(value, "value"), "value");
const fromJson = (text: string): unknown => JSON.parse(text);

describe("each value that JSON lacks has its own stored form", () => {
  const cases: readonly [what: string, value: unknown, stored: string][] = [
    ["undefined", undefined, '{"$":"undefined"}'],
    ["not a number", Number.NaN, '{"$":"number","v":"NaN"}'],
    ["infinity", Number.POSITIVE_INFINITY, '{"$":"number","v":"Infinity"}'],
    ["negative infinity", Number.NEGATIVE_INFINITY, '{"$":"number","v":"-Infinity"}'],
    ["negative zero", -0, '{"$":"number","v":"-0"}'],
    ["a bigint", -(2n ** 70n), '{"$":"bigint","v":"-1180591620717411303424"}'],
    ["a date", new Date(86_400_001), '{"$":"date","v":"1970-01-02T00:00:00.001Z"}'],
    ["an invalid date", new Date(Number.NaN), '{"$":"date","v":null}'],
    ["a map", new Map([["a", 1]]), '{"$":"map","v":[["a",1]]}'],
    ["a set", new Set([1, "a"]), '{"$":"set","v":[1,"a"]}'],
    ["bytes", Uint8Array.of(0, 127, 128, 255), '{"$":"bytes","v":"AH+A/w=="}'],
    ["a Buffer", Buffer.from([0, 127, 128, 255]), '{"$":"buffer","v":"AH+A/w=="}'],
    ["an object with a $ key", { $: 1, b: 2 }, '{"$":"object","v":{"$":1,"b":2}}'],
    ["a sealed value", new SealedValue("subject-7", "AAECAw=="), '{"$":"sealed","k":"subject-7","v":"AAECAw=="}'],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), '{"$":"bare","v":{"a":1}}'],
  ];
  test.each(cases)("%s", (_, value, stored) => {
    expect(encodeText(value, "value")).toBe(stored);
    expect(exactForm(decodeText(stored, "value"))).toBe(exactForm(value));
  });
});

describe("a value comes back exactly as it went in", () => {
  const shared = { in: "two places" };
  const cases: readonly [what: string, value: unknown][] = [
    ["plain JSON", { a: [1, "b", null, true, { c: 0.1 }] }],
    ["members that are undefined", { a: undefined, b: [undefined] }],
    ["an own __proto__ key", fromJson('{"a":1,"__proto__":{"polluted":true}}')],
    ["an own __proto__ key whose value needs a tag", Object.defineProperty({}, "__proto__", on(new Date(0)))],
    ["own constructor and toString keys", fromJson('{"constructor":{"prototype":{"x":1}},"toString":"x"}')],
    ["a bare object with a $ and a __proto__ key", bareFrom('{"$":"date","__proto__":1}')],
    ["keys that look like numbers, in the order JavaScript gives them", { b: 1, 10: 2, 9: 3, "-1": 4, "01": 5 }],
    ["an empty key", { "": { "": 1 } }],
    ["a lone surrogate", "\ud800 and \udfff and \u{1f600}"],
    ["U+0000, U+2028 and a byte order mark", "\u0000\u2028\u2029\ufeff"],
    ["the same in keys", { "\ud800": 1, "\u0000": 2, "\u2028": 3 }],
    ["numbers at the edges", [5e-324, Number.MAX_VALUE, 2 ** 53, -1e21, 1e-7]],
    ["dates at the edges", [new Date(8.64e15), new Date(-8.64e15), new Date(-1)]],
    [
      "a map with every kind of key",
      new Map<unknown, unknown>([
        [{ a: 1 }, [1n]],
        [Number.NaN, -0],
        [undefined, null],
      ]),
    ],
    ["maps and sets inside each other", new Map([[new Set([new Map([[1, 2]])]), new Set([[1], [1]])]])],
    ["a view into larger bytes", new Uint8Array(Uint8Array.of(9, 1, 2, 9).buffer, 1, 2)],
    ["a Buffer that shares a pool", Buffer.from("ab")],
    ["no bytes at all", [new Uint8Array(0), Buffer.alloc(0)]],
    ["one object in two places", { a: shared, b: [shared] }],
  ];
  test.each(cases)("%s", (_, value) => {
    expect(exactForm(roundTrip(value))).toBe(exactForm(value));
  });
});

describe("user data that looks like a tag stays data", () => {
  const likeTags: readonly unknown[] = [
    { $: "date", v: null },
    { $: "undefined" },
    { $: "object", v: { $: "object", v: { $: "map", v: [] } } },
    { $: { $: { $: "bigint", v: "1" } } },
    { v: { $: "bytes", v: "AA==" } },
    [{ $: "set", v: [{ $: "set", v: [] }] }],
    { $: "no such kind" },
    { $: undefined, v: new Date(0) },
  ];
  test.each(likeTags.map((value) => [JSON.stringify(value), value]))("%s", (_, value) => {
    expect(exactForm(roundTrip(value))).toBe(exactForm(value));
    const inside = new Map([[value, new Set([value])]]);
    expect(exactForm(roundTrip({ a: [inside] })), "as the key of a map, deep inside").toBe(exactForm({ a: [inside] }));
  });
});

test("the tree form is plain JSON and leaves what it is given alone", () => {
  const value = { at: new Date(0), list: [1n, { $: 1 }] };
  const tree = encodeValue(value, "value");
  expect(JSON.parse(JSON.stringify(tree))).toEqual(tree);
  const before = JSON.stringify(tree);
  expect(exactForm(decodeValue(tree, "value"))).toBe(exactForm(value));
  expect(JSON.stringify(tree)).toBe(before);
});

test("what was decoded is frozen, to the bottom", () => {
  const decoded = decodeText('{"a":[{"b":{"$":"map","v":[[{"k":1},{"$":"bare","v":{}}]]}}]}', "value") as {
    a: [{ b: Map<object, object> }];
  };
  const [[key, item]] = [...decoded.a[0].b] as [[object, object]];
  for (const part of [decoded, decoded.a, decoded.a[0], decoded.a[0].b, key, item]) {
    expect(Object.isFrozen(part)).toBe(true);
  }
});

test("bytes that were decoded are not the bytes that others hold", () => {
  const given = Buffer.from("abc");
  const decoded = roundTrip(given) as Buffer;
  given[0] = 0;
  expect(decoded.toString()).toBe("abc");
});

describe("text that is not ours", () => {
  test.each(["", "{", "undefined", "[1,]", "\ufeff{}", "NaN", '{"a":1}}'])("%j is refused as CORRUPT", async (text) => {
    expect(await failureOf(() => decodeText(text, "record 7"))).toMatchObject({
      code: "CORRUPT",
      message: "record 7 is not JSON",
    });
  });

  test.each(['"constructor"', '"Date"', '"__proto__"', '"toString"', "1", "null", "{}", "[]"])(
    "an unknown kind, %s, is refused as INCOMPATIBLE",
    async (tag) => {
      const failure = await failureOf(() => decodeText(`{"a":[{"$":${tag},"v":1}]}`, "record 7"));
      expect(failure).toMatchObject({ code: "INCOMPATIBLE" });
      expect(failure.message).toContain("record 7");
    },
  );

  const damaged = [
    '{"$":"number"}',
    '{"$":"number","v":1}',
    '{"$":"number","v":"12"}',
    '{"$":"number","v":"toString"}',
    '{"$":"bigint","v":12}',
    '{"$":"bigint","v":""}',
    '{"$":"bigint","v":"1e9"}',
    '{"$":"bigint","v":"0x10"}',
    '{"$":"bigint","v":" 1"}',
    '{"$":"date"}',
    '{"$":"date","v":0}',
    '{"$":"date","v":"yesterday"}',
    '{"$":"bytes"}',
    '{"$":"bytes","v":[1,2]}',
    '{"$":"bytes","v":"@@@@"}',
    '{"$":"buffer","v":{"type":"Buffer","data":[1]}}',
    '{"$":"map"}',
    '{"$":"map","v":{}}',
    '{"$":"map","v":[1]}',
    '{"$":"map","v":[[1]]}',
    '{"$":"map","v":[[1,2,3]]}',
    '{"$":"set"}',
    '{"$":"set","v":{"length":1}}',
    '{"$":"object"}',
    '{"$":"object","v":[]}',
    '{"$":"sealed","v":"AAECAw=="}',
    '{"$":"sealed","k":"subject-7","v":"@@"}',
    '{"$":"bare","v":null}',
    '{"$":"bare","v":"x"}',
  ];
  test.each(damaged)("a damaged tag, %s, is refused as CORRUPT", async (text) => {
    const failure = await failureOf(() => decodeText(`{"in":${text}}`, "record 7"));
    expect(failure).toMatchObject({ code: "CORRUPT" });
    expect(failure.message).toContain("record 7");
  });
});

function on(value: unknown): PropertyDescriptor {
  return { value, enumerable: true, writable: true, configurable: true };
}

function bareFrom(json: string): unknown {
  return Object.setPrototypeOf(JSON.parse(json), null);
}
