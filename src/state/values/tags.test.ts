import { describe, expect, test } from "vitest";
import { encodeValue } from "./codec.ts";
import { SealedValue } from "./doorway.ts";
import { type JsonValue, mapParts, membersOf } from "./tags.ts";

/** Every text that the walk comes by. */
function textsIn(value: unknown): readonly string[] {
  const texts: string[] = [];
  const walk = (json: JsonValue): JsonValue => {
    if (typeof json === "string") texts.push(json);
    return mapParts(json, walk);
  };
  walk(encodeValue(value, "value"));
  return texts;
}

describe("the walk through encoded values", () => {
  test("comes by every text of the user's and by no notation of ours", () => {
    const value = {
      list: ["a", { b: "b" }],
      map: new Map<unknown, unknown>([["key", new Set(["item"])]]),
      bare: Object.assign(Object.create(null), { c: "c" }),
      none: [undefined, 12n, -0, Number.NaN, new Date(0), new Uint8Array([1, 2, 3]), Buffer.from("abc")],
      sealed: new SealedValue("key id", "AAAA"),
    };
    expect(textsIn(value)).toEqual(["a", "b", "key", "item", "c"]);
  });

  test.each(["bytes", "buffer", "date", "sealed", "number", "lc", "serde", "l", "no tag at all"])(
    "takes a user's own object with the key $ for no tag, be it %s",
    (tag) => {
      const own = { $: tag, v: "said", apiKey: "also said" };
      expect(textsIn(own)).toEqual([tag, "said", "also said"]);
      expect(textsIn({ deep: [{ own: { ...own, again: own } }] })).toEqual([
        tag,
        "said",
        "also said",
        tag,
        "said",
        "also said",
      ]);
      expect(membersOf(encodeValue(own, "value"))).toEqual(own);
    },
  );

  test("leaves what stays the very same, and changes no key", () => {
    const json = encodeValue({ same: [new Map([["k", "v"]])], $: "x" }, "value");
    const same = (each: JsonValue): JsonValue => mapParts(each, same);
    expect(mapParts(json, same)).toBe(json);
    const loud = (each: JsonValue): JsonValue => (typeof each === "string" ? each.toUpperCase() : mapParts(each, loud));
    expect(loud(json)).toEqual({ $: "object", v: { same: [{ $: "map", v: [["K", "V"]] }], $: "X" } });
  });

  test("does not look into a tag that it does not know", () => {
    const json = { $: "of a later version", v: ["said"] };
    expect(mapParts(json, () => "changed")).toBe(json);
    expect(membersOf(json)).toBeUndefined();
  });
});
