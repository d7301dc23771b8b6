import { expect, test } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { failureOf } from "../failure-of.ts";

/** What other stores are known to get wrong. */
export function testKnownDefects(name: string, open: () => Promise<Store>): void {
  const proves = (statement: string, run: (store: Store) => Promise<void>): void => {
    test(`${statement} (${name})`, async () => {
      const store = await open();
      try {
        await store.clearNamespace([], { recursive: true });
        await run(store);
      } finally {
        await store.close();
      }
    });
  };
  const keys = (items: readonly { readonly key: string }[]): readonly string[] =>
    items.map(({ key }) => key).toSorted();

  proves("namespaces and keys that join to the same text are different items", async (store) => {
    await store.put(["users", "alice"], "k", 1);
    await store.put(["users/alice"], "k", 2);
    await store.put(["a"], "b:c", 3);
    await store.put(["a:b"], "c", 4);
    expect(await store.get(["users", "alice"], "k")).toBe(1);
    expect(await store.get(["users/alice"], "k")).toBe(2);
    expect(await store.get(["a"], "b:c")).toBe(3);
    expect(await store.get(["a:b"], "c")).toBe(4);
  });

  proves("values are copies, null is one, empty namespaces go, clearing may be recursive", async (store) => {
    const value = { list: [1] };
    await store.put(["a"], "k", value);
    value.list.push(2);
    expect(await store.get(["a"], "k")).toEqual({ list: [1] });
    await store.put(["a"], "null", null);
    expect([await store.get(["a"], "null"), await store.exists(["a"], "null")]).toEqual([null, true]);
    await store.put(["a", "below"], "k", 1);
    expect(await store.clearNamespace(["a"])).toBe(2);
    expect(await store.listNamespaces()).toEqual([["a", "below"]]);
    expect(await store.clearNamespace(["a"], { recursive: true })).toBe(1);
    expect(await store.listNamespaces()).toEqual([]);
  });

  proves("a version is there to be compared, and an item can end", async (store) => {
    const { version } = await store.put(["a"], "k", 1, { ttlSeconds: 3600 });
    const { version: actual } = await store.put(["a"], "k", 2, { expectedVersion: version });
    expect(await failureOf(() => store.put(["a"], "k", 3, { expectedVersion: version }))).toMatchObject({
      code: "CONFLICT",
      context: { expected: version, actual, written: "no" },
    });
    expect((await store.put(["a"], "k", 4, { ttlSeconds: 3600 })).expiresAt?.getTime()).toBeGreaterThan(Date.now());
  });

  proves("a search or a list of namespaces crosses no segment", async (store) => {
    for (const namespace of [["users", "user1"], ["users", "user10"], ["users", "user1", "x"], ["a:b"], ["a", "b"]]) {
      await store.put(namespace, namespace.join("/"), { text: "walrus" });
    }
    expect(keys(await store.search(["users", "user1"]))).toEqual(["users/user1", "users/user1/x"]);
    expect(keys(await store.search(["users", "user1"], "walrus"))).toEqual(["users/user1", "users/user1/x"]);
    expect(await store.listNamespaces({ prefix: ["users", "user1"] })).toHaveLength(2);
    expect(await store.listNamespaces({ suffix: ["ser1"] })).toEqual([]);
    expect(keys(await store.search(["a"]))).toEqual(["a/b"]);
    expect(keys(await store.search(["a:b"]))).toEqual(["a:b"]);
    expect(await store.search([])).toHaveLength(5);
  });

  proves("filters are strict about types, refuse what they do not know, and `_` is a character", async (store) => {
    await store.put(["user_1"], "number", { n: 9 });
    await store.put(["userX1"], "text", { n: "9" });
    expect(keys(await store.search([], { filter: { n: 9 } }))).toEqual(["number"]);
    expect(keys(await store.search([], { filter: { n: "9" } }))).toEqual(["text"]);
    expect(keys(await store.search([], { filter: { n: { $gt: 8 } } }))).toEqual(["number"]);
    expect(keys(await store.search(["user_1"]))).toEqual(["number"]);
    for (const filter of [{ n: { $regex: "9" } }, { n: {} }, { $where: "1" }]) {
      expect(await failureOf(() => store.search([], { filter: filter as never }))).toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
  });

  proves("CVE-2025-8709: nothing of a filter's keys or values is executed", async (store) => {
    await store.put(["docs"], "public", { access: "public" });
    await store.put(["docs"], "private", { access: "private", owner: "O'Brien's" });
    const key = "access') = 'public' OR '1'='1' OR json_extract(value, '$.";
    expect(await store.search(["docs"], { filter: { [key.replaceAll(".", "\\.")]: "dummy" } })).toEqual([]);
    for (const text of ["public' OR '1'='1", "public'; --", "public\u0000' OR '1'='1", "''''", "public' OR 'א'='א"]) {
      expect(await store.search(["docs"], { filter: { access: text } }), text).toEqual([]);
      expect(keys(await store.search(["docs"], { filter: { access: { $ne: text } } })), text).toHaveLength(2);
    }
    expect(keys(await store.search(["docs"], { filter: { owner: "O'Brien's" } }))).toEqual(["private"]);
  });

  proves("CWE-1336: signs of a pattern in a namespace are characters", async (store) => {
    const all = ["%", "_", "\\", "acme%", "acme", "acmeX", "*", "a"];
    for (const segment of all) await store.put([segment, "x"], segment, 1);
    for (const segment of all) expect(keys(await store.search([segment]))).toEqual([segment]);
    expect(await failureOf(() => store.put(["a\n"], "k", 1))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await failureOf(() => store.put(["a", ""], "k", 1))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
}
