import { describe, expect, test } from "vitest";
import { Pool } from "../../src/saver/values/pool.ts";
import { type ForeignReader, Unpacker } from "../../src/saver/values/unpacking.ts";
import { failureOf } from "../failure-of.ts";

const list = (node: number): string => `\u0001${node}\u0001`;

/** Lists 1 to 3 are the beginnings of [first, second, third]; list 4 is [first, third]. */
function poolOf(first: string, second: string, third: string): Pool {
  const pool = new Pool();
  pool.add({
    elements: [first, second, third],
    lists: [
      [0, 0, 3],
      [1, 2, 1],
    ],
  });
  return pool;
}

/** Takes a turn of the event loop for each value. */
const slowly = (revive: (json: string) => unknown): ForeignReader => ({
  reads: (tag) => tag === "late",
  revive: async (_, json) => {
    await new Promise((resolve) => setImmediate(resolve));
    return revive(json);
  },
  wrapper: () => undefined,
});

const late = (name: string): string => `{"$":"late","v":${JSON.stringify(name)}}`;

describe("lists that share what was decoded", () => {
  const pool = poolOf(late("a"), '{"plain":1}', late("c"));
  const [a, c] = [{ late: "a" }, { late: "c" }];
  const wanted = [[], [a], [a, { plain: 1 }], [a, { plain: 1 }, c], [a, c]];

  test.each([
    [3, 2, 1, 4, 0],
    [0, 1, 2, 3, 4],
    [4, 1, 3, 2, 0],
  ])("are right in whatever order they are asked for: %i %i %i %i %i", async (...order) => {
    const reader = slowly((json) => ({ late: JSON.parse(json) as string }));
    const unpacker = new Unpacker(pool, { foreign: reader, share: true });
    const oneByOne = [];
    for (const node of order) oneByOne.push((await unpacker.values([list(node)]))[0]);
    expect(oneByOne).toEqual(order.map((node) => wanted[node]));
    const together = new Unpacker(pool, { foreign: reader, share: true });
    expect(await Promise.all(order.map((node) => together.value(list(node))))).toEqual(
      order.map((node) => wanted[node]),
    );
  });

  test("are each the caller's own, and have the same elements in them", async () => {
    const unpacker = new Unpacker(pool, { foreign: slowly(() => ({})), share: true });
    const [long, short] = (await unpacker.values([list(3), list(2)])) as [unknown[], unknown[]];
    expect(short[0]).toBe(long[0]);
    long.length = 0;
    short.push("mine");
    expect(await unpacker.value(list(3))).toHaveLength(3);
    expect(await unpacker.value(list(2))).toHaveLength(2);
  });
});

test("a reading that fails is reported once to each caller that shares it; nothing fails unheard", async () => {
  const failing = slowly(() => {
    throw new Error("cannot be revived");
  });
  const unpacker = new Unpacker(poolOf(late("a"), "{damaged", late("c")), { foreign: failing, share: true });
  expect(await failureOf(() => unpacker.value(list(3)))).toMatchObject({ code: "CORRUPT" });
  expect(await failureOf(() => unpacker.value(list(1)))).toBeInstanceOf(Error);
  // By the second turn everything that was begun has failed.
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
});
