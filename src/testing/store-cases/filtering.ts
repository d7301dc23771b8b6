import assert from "node:assert/strict";
import type { StoreFilter } from "../../store/search/filter.ts";
import { failsWith } from "../expect-failure.ts";
import { HOSTILE_KEYS, LOOKALIKE_VALUES } from "../hostile-metadata.ts";
import { type StoreCase, type StoreFixture, storeCasesOf } from "./store-case.ts";
import { keysOf } from "./walking.ts";

const NS = ["f"];

/** Items that the table of filters below is about. */
const ITEMS: Readonly<Record<string, unknown>> = {
  nine: { n: 9, type: "user", deep: { a: { b: 1 } }, tags: ["x"] },
  nineText: { n: "9", type: "User", deep: { "a.b": 1 } },
  ten: { n: 10, type: "feedback", ok: true, id: 2 ** 60 },
  minus: { n: -1.5, ok: false, type: "user_x", id: -(2 ** 60) },
  nothing: { n: null, ok: "true" },
  missing: { other: 1, deep: { a: 5 } },
  date: { n: new Date(0), type: "O'Brien's" },
  nan: { n: Number.NaN, type: "public' OR '1'='1" },
  plain: "text",
  list: [1, 2],
};

const ALL = Object.keys(ITEMS);
const without = (...keys: readonly string[]): readonly string[] => ALL.filter((key) => !keys.includes(key));

/** A filter and the items it keeps. */
const FILTERS: readonly (readonly [StoreFilter, readonly string[]])[] = [
  [{}, ALL],
  [{ n: 9 }, ["nine"]],
  [{ n: "9" }, ["nineText"]],
  [{ n: { $eq: 9 } }, ["nine"]],
  [{ n: null }, ["nothing"]],
  [{ n: { $ne: 9 } }, without("nine")],
  [{ n: { $ne: null } }, without("nothing")],
  [{ n: { $gt: 9 } }, ["ten"]],
  [{ n: { $gte: 9 } }, ["nine", "ten"]],
  [{ n: { $lt: 9 } }, ["minus"]],
  [{ n: { $lte: -1.5 } }, ["minus"]],
  [{ n: { $gt: "8" } }, ["nineText"]],
  // The fewest digits that mean these numbers are those of other integers.
  [{ id: 2 ** 60 }, ["ten"]],
  [{ id: { $lt: -(2 ** 60) } }, []],
  [{ id: { $gte: -(2 ** 60) } }, ["minus", "ten"]],
  [{ n: { $gt: -2, $lt: 10 } }, ["minus", "nine"]],
  [{ n: { $in: [9, "9", null] } }, ["nine", "nineText", "nothing"]],
  [{ n: { $in: [] } }, []],
  [{ n: { $nin: [9, 10] } }, without("nine", "ten")],
  [{ n: { $nin: [] } }, ALL],
  [{ n: { $exists: true } }, ["nine", "nineText", "ten", "minus", "nothing", "date", "nan"]],
  [{ n: { $exists: false } }, ["missing", "plain", "list"]],
  [{ n: { $not: { $gt: 0 } } }, without("nine", "ten")],
  [{ ok: true }, ["ten"]],
  [{ ok: false }, ["minus"]],
  [{ ok: "true" }, ["nothing"]],
  [{ type: "user" }, ["nine"]],
  [{ type: { $gte: "user" } }, ["minus", "nine"]],
  [{ type: "O'Brien's" }, ["date"]],
  [{ type: "public' OR '1'='1" }, ["nan"]],
  [{ type: "public' OR 'א'='א" }, []],
  [{ "deep.a.b": 1 }, ["nine"]],
  [{ "deep.a\\.b": 1 }, ["nineText"]],
  [{ "deep.a": 5 }, ["missing"]],
  [{ "deep.a": { $exists: true } }, ["missing", "nine"]],
  [{ deep: { $exists: true } }, ["missing", "nine", "nineText"]],
  [{ "tags.0": "x" }, []],
  [{ "0": 1 }, []],
  [{ n: 9, type: "user" }, ["nine"]],
  [{ n: 9, type: "User" }, []],
  [{ $and: [{ n: 9 }, { type: "user" }] }, ["nine"]],
  [{ $and: [] }, ALL],
  [{ $or: [{ n: 9 }, { ok: true }, { "deep.a": 5 }] }, ["missing", "nine", "ten"]],
  [{ $or: [] }, []],
  [{ $not: { n: { $exists: true } } }, ["missing", "plain", "list"]],
  [{ $not: { $or: [{ n: 9 }, { n: 10 }] } }, without("nine", "ten")],
  [{ $metadata: { group: "a" } }, ALL.filter((_, index) => index % 2 === 0)],
  [{ $metadata: { group: { $ne: "a" } } }, ALL.filter((_, index) => index % 2 === 1)],
  [{ n: { $exists: true }, $metadata: { "at.index": { $gte: 5 } } }, ["date", "nan"]],
  [{ $or: [{ $metadata: { "at.index": 0 } }, { n: 10 }] }, ["nine", "ten"]],
  [{ "access') = 'public' OR '1'='1' OR json_extract(value, '$.": 1 }, []],
  [{ "n') OR 1=1 --": 1 }, []],
  [{ __proto__x: 1 }, []],
];

async function putItems({ subject }: StoreFixture): Promise<void> {
  const entries = Object.entries(ITEMS).map(([key, value], index) => {
    const metadata = { group: index % 2 === 0 ? "a" : "b", at: { index } };
    return { namespace: NS, key, value, metadata };
  });
  await subject.putBatch(entries);
}

const REFUSED: Readonly<Record<string, unknown>> = {
  "an unknown operator": { n: { $regex: "a" } },
  "an operator of another library": { n: { $where: "1" } },
  "an unknown connective": { $nor: [] },
  "an object without an operator": { n: { a: 1 } },
  "an empty object": { n: {} },
  "a list": { n: [1] },
  "a Date": { n: { $gt: new Date(0) } },
  NaN: { n: Number.NaN },
  Infinity: { n: { $lt: Number.POSITIVE_INFINITY } },
  "a bigint": { n: 1n },
  "a boolean with an order": { n: { $gt: true } },
  "null with an order": { n: { $gt: null } },
  "$in without a list": { n: { $in: 5 } },
  "$exists without a boolean": { n: { $exists: 1 } },
  "$and without a list": { $and: { n: 1 } },
  "a value that is undefined": { n: undefined },
  "an operand that is undefined": { n: { $eq: undefined } },
  "a text": "n = 9",
  "a function": () => true,
  null: null,
};

export const filteringCases: readonly StoreCase[] = storeCasesOf("filters", [
  {
    name: "every filter keeps the items it says, by value and by type",
    run: async (fixture) => {
      await putItems(fixture);
      for (const [filter, expected] of FILTERS) {
        const found = keysOf(await fixture.subject.list(NS, { filter })).toSorted();
        assert.deepEqual(found, expected.toSorted(), JSON.stringify(filter));
      }
    },
  },
  {
    name: "an invalid filter is refused, and never taken for one that keeps everything",
    run: async (fixture) => {
      await putItems(fixture);
      const { subject } = fixture;
      for (const [what, filter] of Object.entries(REFUSED)) {
        await failsWith("INVALID_ARGUMENT", () => subject.list(NS, { filter: filter as StoreFilter }), what);
        await failsWith(
          "INVALID_ARGUMENT",
          () => subject.search(NS, { filter: filter as StoreFilter, query: "a" }),
          what,
        );
      }
      let deep: StoreFilter = { n: 1 };
      for (let level = 0; level < 5000; level++) deep = { $not: deep };
      await failsWith("INVALID_ARGUMENT", () => subject.list(NS, { filter: deep }), "5000 levels");
      const wide = { n: { $in: Array.from({ length: 100_000 }, (_, index) => index) } };
      await failsWith("INVALID_ARGUMENT", () => subject.list(NS, { filter: wide }), "100,000 operands");
    },
  },
  {
    name: "values that look alike are told apart, in the value and in the metadata",
    run: async ({ subject }) => {
      const scalars = LOOKALIKE_VALUES.filter((value) => typeof value !== "object" || value === null);
      await subject.putBatch(
        scalars.map((value, index) => ({
          namespace: NS,
          key: `${index}`,
          value: { x: value },
          metadata: { x: value },
        })),
      );
      for (const [index, value] of scalars.entries()) {
        const operand = value as string;
        assert.deepEqual(
          keysOf(await subject.list(NS, { filter: { x: operand } })),
          [`${index}`],
          JSON.stringify(value),
        );
        const byMetadata = await subject.list(NS, { filter: { $metadata: { x: operand } } });
        assert.deepEqual(keysOf(byMetadata), [`${index}`], `metadata ${JSON.stringify(value)}`);
      }
    },
  },
  {
    name: "fields with hostile names are found by them, and by nothing else",
    run: async ({ subject }) => {
      const escaped = (name: string): string => name.replaceAll(/[\\.]/g, "\\$&").replace(/^\$/, "\\$");
      await subject.putBatch(
        HOSTILE_KEYS.map((name, index) => ({
          namespace: NS,
          key: `${index}`,
          value: Object.defineProperty({}, name, {
            value: index,
            enumerable: true,
            writable: true,
            configurable: true,
          }),
        })),
      );
      for (const [index, name] of HOSTILE_KEYS.entries()) {
        const filter: StoreFilter = Object.fromEntries([[escaped(name), { $exists: true }]]);
        assert.deepEqual(keysOf(await subject.list(NS, { filter })), [`${index}`], JSON.stringify(name));
        const equal: StoreFilter = Object.fromEntries([[escaped(name), index]]);
        assert.deepEqual(keysOf(await subject.list(NS, { filter: equal })), [`${index}`], JSON.stringify(name));
      }
    },
  },
  {
    name: "texts are compared by code points",
    run: async ({ subject }) => {
      const texts = [
        "",
        " ",
        "A",
        "Z",
        "a",
        "a\u0000",
        "ab",
        "\u00e9",
        "\ud7ff",
        "\uff41",
        "\uffff",
        "\u{1f600}",
        "\u{10ffff}",
      ];
      await subject.putBatch(
        texts.map((text, index) => ({ namespace: NS, key: String(index).padStart(2, "0"), value: { text } })),
      );
      for (const [index, text] of texts.entries()) {
        const below = await subject.list(NS, { filter: { text: { $lt: text } } });
        assert.equal(below.length, index, `below ${JSON.stringify(text)}`);
        const from = await subject.list(NS, { filter: { text: { $gte: text } } });
        assert.equal(from.length, texts.length - index, `from ${JSON.stringify(text)}`);
      }
    },
  },
]);
