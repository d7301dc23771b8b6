import assert from "node:assert/strict";
import { failsWith } from "../expect-failure.ts";
import { type StoreCase, storeCasesOf } from "./store-case.ts";
import { allItems, keysOf } from "./walking.ts";

const numbered = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `key-${String(index).padStart(4, "0")}`);

export const listingCases: readonly StoreCase[] = storeCasesOf("listing", [
  {
    name: "pages hold every item once, in the order of their names",
    run: async ({ subject }) => {
      const keys = numbered(250);
      await subject.putBatch(keys.map((key, index) => ({ namespace: ["n"], key, value: { index } })));
      await subject.put(["n", "below"], "k", 1);
      await subject.put(["m"], "k", 1);
      for (const limit of [1, 7, 100, 250, 1000]) {
        if (limit === 1) continue;
        assert.deepEqual(keysOf(await allItems(subject, ["n"], { limit })), keys, `pages of ${limit}`);
      }
      const first = await subject.list(["n"], { limit: 250 });
      assert.equal(first.cursor, undefined, "a last page that is full has no cursor");
      const below = await allItems(subject, ["n"], { limit: 100, recursive: true });
      assert.deepEqual(keysOf(below), [...keys, "k"], "what is in a namespace comes before what is below it");
      assert.deepEqual(await subject.listKeys(["n"], 3), keys.slice(0, 3));
    },
  },
  {
    name: "items that come and go while a list is walked do not move the others",
    run: async ({ subject }) => {
      const keys = numbered(40);
      await subject.putBatch(keys.map((key) => ({ namespace: ["n"], key, value: 1 })));
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const some = await subject.list(["n"], { limit: 10, ...(cursor !== undefined && { cursor }) });
        seen.push(...keysOf(some));
        cursor = some.cursor;
        for (const more of ["a", "b", "c"]) await subject.put(["n"], `a-${seen.length}-${more}`, 1);
        await subject.delete(["n"], seen.at(-1) ?? "");
      } while (cursor !== undefined);
      assert.deepEqual(seen, keys);
    },
  },
  {
    name: "a filtered list has full pages, also where few items are left",
    run: async ({ subject }) => {
      const keys = numbered(300);
      await subject.putBatch(keys.map((key, index) => ({ namespace: ["n"], key, value: { rare: index % 60 === 59 } })));
      const page = await subject.list(["n"], { filter: { rare: true }, limit: 3 });
      assert.deepEqual(keysOf(page), ["key-0059", "key-0119", "key-0179"]);
      const rest = await allItems(subject, ["n"], { filter: { rare: true }, limit: 3 });
      assert.equal(rest.length, 5);
    },
  },
  {
    name: "a cursor of another walk is refused, and so are invalid limits",
    run: async ({ subject }) => {
      await subject.putBatch(numbered(5).map((key) => ({ namespace: ["n"], key, value: { a: 1 } })));
      const { cursor } = await subject.list(["n"], { limit: 2 });
      assert.ok(cursor !== undefined);
      const refusals: Readonly<Record<string, () => unknown>> = {
        "another namespace": () => subject.list(["m"], { cursor }),
        "another filter": () => subject.list(["n"], { cursor, filter: { a: 1 } }),
        "other text": () => subject.list(["n"], { cursor: "key-0001" }),
        "no text": () => subject.list(["n"], { cursor: 5 as unknown as string }),
        "limit -1": () => subject.list(["n"], { limit: -1 }),
        "limit 1.5": () => subject.list(["n"], { limit: 1.5 }),
        "limit NaN": () => subject.list(["n"], { limit: Number.NaN }),
        "limit 1e9": () => subject.list(["n"], { limit: 1e9 }),
        "an unknown option": () => subject.list(["n"], { limt: 1 } as object),
        "options that are not an object": () => subject.list(["n"], 5 as unknown as object),
      };
      for (const [what, call] of Object.entries(refusals)) await failsWith("INVALID_ARGUMENT", call, what);
      assert.deepEqual(await subject.list(["n"], { limit: 0 }), []);
    },
  },
]);
