import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/property-seed.ts";
import { filterOf, parseFilter, type StoreFilter, WRITTEN_OUT } from "./filter.ts";

const name = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("a", "a.b", "\\$x", "a\\.b", "__proto__", "\\", ""),
);
const scalar = fc.oneof(fc.string({ unit: "binary" }), fc.integer(), fc.boolean(), fc.constant(null));
const ordered = fc.oneof(fc.string(), fc.integer());
const field = fc.oneof(
  scalar,
  fc.record({ $ne: scalar, $gt: ordered, $lte: ordered }, { requiredKeys: ["$ne"] }),
  fc.record({
    $in: fc.array(scalar, { maxLength: 3 }),
    $exists: fc.boolean(),
    $not: fc.record({ $nin: fc.array(scalar) }),
  }),
);
const fields = fc.dictionary(
  name.filter((each) => !each.startsWith("$")),
  field,
  { maxKeys: 3 },
);
const { filter } = fc.letrec<{ filter: StoreFilter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3 },
    fields as fc.Arbitrary<StoreFilter>,
    fc.record({ $and: fc.array(tie("filter"), { maxLength: 3 }) }) as fc.Arbitrary<StoreFilter>,
    fc.record({ $or: fc.array(tie("filter"), { maxLength: 3 }), $not: tie("filter") }) as fc.Arbitrary<StoreFilter>,
    fc.record({ $metadata: fields }) as fc.Arbitrary<StoreFilter>,
  ),
}));

test("a condition written out as a filter, sent and read means the same", () => {
  const property = fc.property(filter, (given) => {
    const condition = parseFilter(given);
    if (condition === undefined) return;
    const sent = JSON.parse(JSON.stringify(filterOf(condition))) as unknown;
    expect(parseFilter(sent, WRITTEN_OUT)).toEqual(condition);
  });
  fc.assert(property, runs(300));
});

test("the longest filter that is taken still fits when it is written out", () => {
  const operators = { $gt: 1, $gte: 1, $lt: 1, $lte: 1, $ne: 1, $exists: false };
  const wide = { $metadata: Object.fromEntries(Array.from({ length: 140 }, (_, at) => [`f${at}`, operators])) };
  let deep: StoreFilter = { a: { $not: { $not: { $gt: 1 } } }, b: 1 };
  for (let at = 0; at < 13; at++) deep = { $not: { $and: [deep, { c: 1 }] } };
  for (const given of [wide, deep]) {
    const condition = parseFilter(given);
    if (condition === undefined) throw new Error("it keeps something out");
    expect(parseFilter(filterOf(condition), WRITTEN_OUT)).toEqual(condition);
  }
});
