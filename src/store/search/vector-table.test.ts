import { expect, test } from "vitest";
import { seededRandom } from "../../../test/processes/seeded-random.ts";
import { seed } from "../../../test/property-seed.ts";
import type { Condition } from "../driver/store-driver.ts";
import { VectorShelf, VectorTable } from "./vector-table.ts";

const group = (operand: number): Condition => ({
  op: "in",
  path: { of: "value", names: ["group"] },
  operands: [operand],
});
const ask = (limit: number, condition?: Condition, now = 0) => ({
  vector: Float32Array.of(1, 0),
  limit,
  condition,
  now,
});
/** The higher the number, the nearer. */
const row = (key: string, near: number, stamp = "1") => ({
  key,
  stamp,
  end: undefined,
  vector: Float32Array.of(near, 100 - near),
});
const fields = (number: number) => ({ value: { group: number }, metadata: {} });

test("rows that are set, replaced and deleted at random are found as a list of them would be", () => {
  console.log(`HOLDFAST_SEED=${seed}`);
  const random = seededRandom(seed);
  const table = new VectorTable<string>(2);
  table.openColumns(group(1));
  table.closeColumns(group(1));
  const model = new Map<string, { near: number; stamp: string; group: number }>();
  for (let stamp = 1; stamp <= 2000; stamp++) {
    const key = `k${random.below(400)}`;
    if (random.below(3) === 0) {
      table.delete(key);
      model.delete(key);
    } else {
      // No two are equally near.
      const item = { near: random.next() * 100, stamp: String(stamp), group: random.below(3) };
      table.set(row(key, item.near, item.stamp), fields(item.group));
      model.set(key, item);
    }
    if (stamp % 50 !== 0) continue;
    expect(table.size).toBe(model.size);
    for (const only of [undefined, 1]) {
      const wanted = [...model]
        .filter(([, item]) => only === undefined || item.group === only)
        .sort(([, a], [, b]) => b.near - a.near)
        .slice(0, 7);
      const found = table.best(ask(7, only === undefined ? undefined : group(only)));
      expect(found.map((hit) => [hit.key, hit.stamp])).toEqual(wanted.map(([name, item]) => [name, item.stamp]));
    }
  }
});

test("a row that was replaced while its fields were read keeps those of its newer self", () => {
  const table = new VectorTable<string>(2);
  table.set(row("a", 50, "1"));
  expect(table.canFilter(group(1))).toBe(false);
  table.openColumns(group(1));
  table.set(row("a", 60, "2"), fields(2));
  table.fillColumns("a", "1", fields(1));
  expect(table.canFilter(group(1))).toBe(false);
  table.closeColumns(group(1));
  expect(table.canFilter(group(1))).toBe(true);
  expect(table.best(ask(5, group(1)))).toEqual([]);
  expect(table.best(ask(5, group(2)))).toMatchObject([{ key: "a", stamp: "2" }]);
});

test("a filter with many fields has all of them, and one asked long ago has to be read again", () => {
  const table = new VectorTable<string>(2);
  table.set(row("a", 50));
  const on = (name: string): Condition => ({ op: "exists", path: { of: "value", names: [name] } });
  const read = (condition: Condition): void => {
    table.openColumns(condition);
    table.fillColumns("a", "1", fields(1));
    table.closeColumns(condition);
  };
  const many: Condition = { op: "and", of: Array.from({ length: 20 }, (_, at) => on(`f${at}`)) };
  read(many);
  expect(table.canFilter(many)).toBe(true);
  expect(table.best(ask(1, { op: "not", of: many }))).toHaveLength(1);
  read(on("group"));
  expect(table.best(ask(1, on("group")))).toHaveLength(1);
  expect(table.canFilter(many)).toBe(false);
});

test("a row past its end is not found", () => {
  const table = new VectorTable<string>(2);
  table.set({ ...row("a", 50), end: 1000 });
  expect(table.best(ask(5, undefined, 999))).toHaveLength(1);
  expect(table.best(ask(5, undefined, 1000))).toEqual([]);
});

test("tables take no more room than they may: the one that was not used for longest goes, and one that is too large never stays", () => {
  const shelf = new VectorShelf<string>(100_000);
  const scope = (name: string) => ({ namespace: [name], recursive: true, dimension: 2 });
  const table = (rows: number): VectorTable<string> => {
    const made = new VectorTable<string>(2);
    for (let at = 0; at < rows; at++) made.set(row(`k${at}`, at % 100));
    return made;
  };
  expect(shelf.keep(scope("a"), table(300))).toBe(true);
  expect(shelf.keep(scope("b"), table(300))).toBe(true);
  shelf.keep(scope("a"), shelf.get(scope("a")) as VectorTable<string>);
  expect(shelf.keep(scope("c"), table(300))).toBe(true);
  expect(["a", "b", "c"].filter((name) => shelf.get(scope(name)) !== undefined)).toEqual(["a", "c"]);
  expect(shelf.keep(scope("d"), table(2000))).toBe(false);
  expect(shelf.get(scope("d"))).toBeUndefined();
  expect(shelf.hasRoomFor(2000, scope("d"))).toBe(true);
  expect(shelf.hasRoomFor(200_000, scope("d"))).toBe(false);
});
