import assert from "node:assert/strict";
import type { Namespace } from "../../store/driver/store-driver.ts";
import { anySegment } from "../../store/items/items.ts";
import { failsWith } from "../expect-failure.ts";
import { HOSTILE_IDS, REFUSED_IDS, shown } from "../hostile-ids.ts";
import { type StoreCase, storeCasesOf } from "./store-case.ts";
import { allNames, keysOf, nameOf } from "./walking.ts";

/** Tuples that are one and the same when their segments are joined carelessly, or matched as patterns. */
const NEIGHBOURS: readonly Namespace[] = [
  ["user1"],
  ["user10"],
  ["user"],
  ["user1", "a"],
  ["user1", "a", "b"],
  ["user1a"],
  ["a", "b"],
  ["a:b"],
  ["a/b"],
  ["a.b"],
  ["a,b"],
  ["a b"],
  ["a\u200bb"],
  ["a", "b", "c"],
  ["a", "b:c"],
  ["a:b", "c"],
  ["a_b"],
  ["a%b"],
  ["aXb"],
  ["%"],
  ["_"],
  ["*"],
  ["\\"],
  ["A", "b"],
  ["user_1"],
  ["userX1"],
  [" "],
  ["__proto__"],
  ["constructor"],
  ["1:a"],
  ["\u{10ffff}"],
  ["\u{10ffff}", "\u{10ffff}"],
];

const isBelow = (namespace: Namespace, prefix: Namespace): boolean =>
  prefix.every((segment, index) => namespace[index] === segment);

export const namespaceCases: readonly StoreCase[] = storeCasesOf("namespaces", [
  {
    name: "namespaces that look alike are different ones, and match by whole segments",
    run: async ({ subject }) => {
      for (const namespace of NEIGHBOURS) await subject.put(namespace, "k", { at: namespace });
      for (const namespace of NEIGHBOURS) {
        assert.deepEqual(await subject.get(namespace, "k"), { at: namespace });
        const inside = await subject.list(namespace);
        assert.deepEqual(inside.map(nameOf), [nameOf({ namespace, key: "k" })], `in ${JSON.stringify(namespace)}`);
        const below = await subject.list(namespace, { recursive: true });
        const expected = NEIGHBOURS.filter((other) => isBelow(other, namespace));
        assert.deepEqual(
          new Set(below.map((item) => JSON.stringify(item.namespace))),
          new Set(expected.map((other) => JSON.stringify(other))),
          `below ${JSON.stringify(namespace)}`,
        );
        const searched = await subject.list(namespace, { recursive: true, filter: { at: { $exists: true } } });
        assert.equal(searched.length, expected.length, `filtered below ${JSON.stringify(namespace)}`);
      }
    },
  },
  {
    name: "a key does not run into its namespace",
    run: async ({ subject }) => {
      await subject.put(["a"], "b:c", 1);
      await subject.put(["a:b"], "c", 2);
      await subject.put(["a", "b"], "c", 3);
      await subject.put(["a"], "b", 4);
      assert.equal(await subject.get(["a"], "b:c"), 1);
      assert.equal(await subject.get(["a:b"], "c"), 2);
      assert.equal(await subject.get(["a", "b"], "c"), 3);
      await subject.delete(["a"], "b");
      assert.equal((await allNames(subject)).length, 3);
    },
  },
  {
    name: "every hostile text is a key and a segment of its own",
    run: async ({ subject }) => {
      for (const id of HOSTILE_IDS)
        await subject.putBatch([
          { namespace: [id], key: "k", value: id },
          { namespace: ["keys"], key: id, value: id },
        ]);
      for (const id of HOSTILE_IDS) {
        assert.equal(await subject.get([id], "k"), id, `segment ${shown(id)}`);
        assert.equal(await subject.get(["keys"], id), id, `key ${shown(id)}`);
      }
      const listed = await subject.list(["keys"], { limit: 1000 });
      assert.deepEqual(new Set(keysOf(listed)), new Set(HOSTILE_IDS));
    },
  },
  {
    name: "what is no name is refused by every method before anything is written",
    run: async ({ subject }) => {
      for (const { what, id } of REFUSED_IDS) {
        const name = id as string;
        const calls: Readonly<Record<string, () => unknown>> = {
          "put, key": () => subject.put(["a"], name, 1),
          "put, segment": () => subject.put([name], "k", 1),
          "get, key": () => subject.get(["a"], name),
          "get, segment": () => subject.get(["a", name], "k"),
          delete: () => subject.delete(["a"], name),
          list: () => subject.list([name]),
          search: () => subject.search([name], { filter: { a: 1 } }),
          clearNamespace: () => subject.clearNamespace([name], { recursive: true }),
          putBatch: () =>
            subject.putBatch([
              { namespace: ["a"], key: "fine", value: 1 },
              { namespace: ["a"], key: name, value: 1 },
            ]),
          getBatch: () => subject.getBatch([{ namespace: [name], key: "k" }]),
          scoped: () => subject.scoped("a", name),
        };
        for (const [method, call] of Object.entries(calls)) {
          await failsWith("INVALID_ARGUMENT", async () => call(), `${method} with ${what}`);
        }
      }
      for (const namespace of ["text", undefined, null, 1, {}, Object.assign([], { length: 3 }), Array(40).fill("a")]) {
        await failsWith("INVALID_ARGUMENT", () => subject.put(namespace as Namespace, "k", 1), "a put elsewhere");
      }
      await failsWith("INVALID_ARGUMENT", () => subject.put([], "k", 1), "a put into no namespace");
      await failsWith("INVALID_ARGUMENT", () => subject.clearNamespace([]), "clearing no namespace");
      assert.deepEqual(await allNames(subject), []);
    },
  },
  {
    name: "clearing takes a namespace, or also what is below it, and nothing beside it",
    run: async ({ subject }) => {
      const all: readonly Namespace[] = [["a"], ["a", "b"], ["ab"], ["a", "b", "c"], ["a_"], ["b"]];
      for (const namespace of all) await subject.put(namespace, "k", 1);
      assert.equal(await subject.clearNamespace(["a"]), 1);
      assert.deepEqual((await allNames(subject)).toSorted(), ["a/b/c/k", "a/b/k", "a_/k", "ab/k", "b/k"]);
      assert.equal(await subject.clearNamespace(["a"], { recursive: true }), 2);
      assert.deepEqual((await allNames(subject)).toSorted(), ["a_/k", "ab/k", "b/k"]);
      assert.equal(await subject.clearNamespace([], { recursive: true }), 3);
      assert.deepEqual(await allNames(subject), []);
    },
  },
  {
    name: "clearing goes to the end, however much there is",
    run: async ({ subject }) => {
      for (let part = 0; part < 3; part++) {
        await subject.putBatch(
          Array.from({ length: 400 }, (_, index) => ({ namespace: ["many"], key: `${part}-${index}`, value: index })),
        );
      }
      await subject.put(["few"], "k", 1);
      assert.equal(await subject.clearNamespace(["many"]), 1200);
      assert.deepEqual(await allNames(subject), ["few/k"]);
    },
  },
  {
    name: "namespaces are listed while they hold an item, by prefix, suffix and depth",
    needs: ["listNamespaces"],
    run: async ({ subject }) => {
      const all: readonly Namespace[] = [
        ["a"],
        ["a", "x"],
        ["a", "y", "v1"],
        ["ab", "x"],
        ["b", "x"],
        ["b", "y", "malice"],
        ["b", "y", "alice"],
      ];
      for (const namespace of all) for (const key of ["1", "2"]) await subject.put(namespace, key, 1);
      const listed = async (options?: Parameters<typeof subject.listNamespaces>[0]): Promise<readonly string[]> =>
        (await subject.listNamespaces(options)).map((namespace) => namespace.join("/"));
      assert.deepEqual(await listed(), ["a", "a/x", "a/y/v1", "ab/x", "b/x", "b/y/alice", "b/y/malice"]);
      assert.deepEqual(await listed({ prefix: ["a"] }), ["a", "a/x", "a/y/v1"]);
      assert.deepEqual(await listed({ suffix: ["x"] }), ["a/x", "ab/x", "b/x"]);
      assert.deepEqual(await listed({ suffix: ["alice"] }), ["b/y/alice"]);
      assert.deepEqual(await listed({ prefix: [anySegment, "y"] }), ["a/y/v1", "b/y/alice", "b/y/malice"]);
      assert.deepEqual(await listed({ prefix: ["b"], suffix: [anySegment, "alice"] }), ["b/y/alice"]);
      assert.deepEqual(await listed({ maxDepth: 1 }), ["a", "ab", "b"]);
      assert.deepEqual(await listed({ maxDepth: 2 }), ["a", "a/x", "a/y", "ab/x", "b/x", "b/y"]);
      const paged: string[] = [];
      let cursor: string | undefined;
      do {
        const some = await subject.listNamespaces({ limit: 2, maxDepth: 2, ...(cursor !== undefined && { cursor }) });
        paged.push(...some.map((namespace) => namespace.join("/")));
        cursor = some.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(paged, ["a", "a/x", "a/y", "ab/x", "b/x", "b/y"]);
      await subject.clearNamespace(["a"]);
      await subject.delete(["b", "x"], "1");
      await subject.delete(["b", "x"], "2");
      assert.deepEqual(await listed(), ["a/x", "a/y/v1", "ab/x", "b/y/alice", "b/y/malice"]);
    },
  },
  {
    name: "a store that is seen from inside a namespace cannot name what is outside",
    run: async ({ subject }) => {
      const users = subject.scoped("users");
      const one = users.scoped("u1");
      await one.put("profile", { name: "A" });
      await subject.put(["users", "u10"], "profile", { name: "B" });
      assert.deepEqual(await one.get("profile"), { name: "A" });
      assert.deepEqual(keysOf(await one.list()), ["profile"]);
      assert.deepEqual(await one.listKeys(), ["profile"]);
      assert.equal((await users.search({ filter: { name: { $exists: true } } })).length, 2);
      assert.equal(await one.clear({ recursive: true }), 1);
      assert.deepEqual(await allNames(subject), ["users/u10/profile"]);
    },
  },
]);
