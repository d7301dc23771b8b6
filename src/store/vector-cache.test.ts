import { expect, test } from "vitest";
import { VectorCache } from "./vector-cache.ts";

const vector = (number: number): Float32Array => Float32Array.of(number, 1);
const ROOM_FOR_TEN = 10 * 8;

/** Looks at every row in order, as a search does; says how many were there already. */
function searched(cache: VectorCache, rows: readonly number[]): number {
  return rows.filter((row) => {
    const known = cache.get(row);
    expect((known ?? cache.add(row, vector(row))).vector).toEqual(vector(row));
    return known !== undefined;
  }).length;
}

const rows = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, at) => from + at);

test("of more vectors than there is room for, a search finds as many as fit", () => {
  const cache = new VectorCache(ROOM_FOR_TEN);
  expect(searched(cache, rows(0, 25))).toBe(0);
  expect(searched(cache, rows(0, 25))).toBe(10);
});

test("rows that were deleted do not hold their room for ever", () => {
  const cache = new VectorCache(ROOM_FOR_TEN);
  searched(cache, rows(0, 10));
  let searches = 0;
  while (searched(cache, rows(100, 10)) < 10) expect(++searches).toBeLessThan(50);
});
