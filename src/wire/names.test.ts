import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../test/property-seed.ts";
import { HOSTILE_IDS } from "../testing/hostile-ids.ts";
import { decodeSegment, encodeSegment, entityTag, idempotencyKey, placeFromTag, writeIdFromKey } from "./names.ts";
import { OPERATIONS, pathOf, ROUTES } from "./routes.ts";

const SEGMENT = /^[A-Za-z0-9_-]+$/;
const HEADER = /^"[\x21\x23-\x7e]+"$/;
const id = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }).filter((text) => text.isWellFormed());

test("every hostile id is a plain segment, and each another one", () => {
  const segments = HOSTILE_IDS.map(encodeSegment);
  for (const [index, segment] of segments.entries()) {
    expect(segment).toMatch(SEGMENT);
    expect(decodeSegment(segment)).toBe(HOSTILE_IDS[index]);
  }
  expect(new Set(segments).size).toBe(HOSTILE_IDS.length);
});

test("what leads to an id is made from that id and from no other spelling", () => {
  const property = fc.property(fc.string({ unit: fc.constantFrom(..."AZaz09_-=+/.%"), maxLength: 12 }), (segment) => {
    const decoded = decodeSegment(segment);
    if (decoded !== undefined) expect(encodeSegment(decoded)).toBe(segment);
  });
  fc.assert(property, runs(5_000));
});

test("a path with any ids in it survives a URL parser as it is", () => {
  const property = fc.property(fc.constantFrom(...OPERATIONS), id, id, (operation, thread, checkpoint) => {
    const path = pathOf(operation, { thread, checkpoint });
    expect(new URL(path, "http://h").pathname).toBe(path);
    expect(path.split("/")).toHaveLength(ROUTES[operation].path.split("/").length);
  });
  fc.assert(property, runs(2_000));
});

test("places and write ids come back from headers, and no two share one", () => {
  const property = fc.property(id, id, id, fc.nat(), (generation, writeId, other, seq) => {
    const tag = entityTag({ generation, seq, writeId });
    expect(tag).toMatch(HEADER);
    expect(placeFromTag(tag)).toEqual({ generation, seq, writeId });
    expect(idempotencyKey(generation)).toMatch(HEADER);
    expect(writeIdFromKey(idempotencyKey(generation))).toBe(generation);
    if (generation !== other) expect(entityTag({ generation: other, seq, writeId })).not.toBe(tag);
    if (writeId !== other) expect(entityTag({ generation, seq, writeId: other })).not.toBe(tag);
  });
  fc.assert(property, runs(2_000));
});

test.each([
  "",
  "*",
  '""',
  '"a"',
  '"a:"',
  '":1"',
  '"a:1',
  "a:1",
  '"a:1", "b:2"',
  'W/"a:1"',
  '"a:-1"',
  '"a:1e3"',
  '"%:1"',
])("%j names no place", (tag) => {
  expect(placeFromTag(tag)).toBeUndefined();
});
