import { describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import type { StoreDriver } from "../../src/store/driver/store-driver.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import type { Store } from "../../src/store/store.ts";
import { sampleKeyring } from "./sample-keyring.ts";

/** The same storage, opened with keys and without. */
async function place() {
  const { keyring } = await sampleKeyring();
  const below = accessOf(new InMemoryStore())?.driver as StoreDriver;
  const sealing = new Sealing({ keyring });
  const sealed: Store = new InMemoryStore({ sealing: { overStore: () => sealing.overStore(below) } });
  const plain = (): Store => new InMemoryStore({ sealing: { overStore: () => below } });
  return { below, sealed, plain };
}

const REFUSED = { code: "INCOMPATIBLE", message: expect.stringContaining("option `sealing`") };

describe("a sealed store that is opened without keys", () => {
  test("hands out no sealed text: get, getBatch and update are INCOMPATIBLE, and what is listed or searched says what was not seen", async () => {
    const { sealed, plain } = await place();
    await sealed.put(["facts"], "a", { colour: "zebra" });
    const store = plain();
    await expect(store.get(["facts"], "a")).rejects.toMatchObject(REFUSED);
    await expect(store.getBatch([{ namespace: ["facts"], key: "a" }])).rejects.toMatchObject(REFUSED);
    await expect(store.update(["facts"], "a", () => ({ colour: "lion" }))).rejects.toMatchObject(REFUSED);
    const pages = [
      await store.list(["facts"]),
      await store.list(["facts"], { filter: { colour: "zebra" } }),
      await store.search(["facts"]),
      await store.search(["facts"], "zebra"),
      await store.search([], "zebra"),
    ];
    for (const page of pages) {
      expect(page).toHaveLength(0);
      expect(page.warnings).toMatchObject([REFUSED]);
    }
    expect(await store.search(["others"], "zebra")).toMatchObject({ length: 0, warnings: [] });
    expect(await sealed.get(["facts"], "a")).toEqual({ colour: "zebra" });
  });

  test("takes no item in plain where everything is sealed, and everything about no person beside it", async () => {
    const { sealed, plain } = await place();
    await sealed.put(["facts", "one"], "a", { colour: "zebra" });
    await expect(plain().put(["facts", "two"], "b", 1)).rejects.toMatchObject(REFUSED);
    const batch = [
      { namespace: ["own"], key: "b", value: 1 },
      { namespace: ["facts"], key: "b", value: 1 },
    ];
    await expect(plain().putBatch(batch)).rejects.toMatchObject(REFUSED);
    await expect(plain().putWithEmbedding(["facts"], "b", 1, [1, 2])).rejects.toMatchObject(REFUSED);
    const store = plain();
    await store.put(["own"], "b", 1);
    expect(await store.get(["own"], "b")).toBe(1);
    expect(await sealed.list(["facts"], { recursive: true })).toHaveLength(1);
  });

  test("one item that was sealed by mistake stops no reader of the plain ones", async () => {
    const { sealed, plain } = await place();
    await plain().put(["facts"], "b", 1);
    await sealed.put(["facts"], "a", 1);
    const store = plain();
    await store.put(["facts"], "c", 2);
    const page = await store.list(["facts"]);
    expect(page.map(({ key }) => key)).toEqual(["b", "c"]);
    expect(page.warnings).toMatchObject([REFUSED]);
  });

  test("a text that only looks like a sealed one is a value like any other", async () => {
    const { plain } = await place();
    const store = plain();
    const values = ["is1.key.box", '{"$":"sealed","k":"is1.key","v":"AAAA"}', { $: "sealed", k: "is1.key", v: "AAAA" }];
    for (const value of values) {
      await store.put(["facts"], "a", value);
      expect(await store.get(["facts"], "a")).toEqual(value);
    }
  });

  test("a store looks once for each of a few first segments, and one that has keys does not look", async () => {
    const { below, sealed, plain } = await place();
    await sealed.put(["facts"], "first", 1);
    let scans = 0;
    const scan = below.scan.bind(below);
    below.scan = (...given) => {
      scans++;
      return scan(...given);
    };
    const store = plain();
    for (let user = 0; user < 40; user++) {
      for (let key = 0; key < 3; key++) await store.put([`user-${user}`, "notes"], `${key}`, key);
    }
    expect(scans).toBe(16);
    await sealed.put(["facts"], "a", 1);
    expect(scans).toBe(16);
  });

  test("an instance that may write and not read writes", async () => {
    const { below, plain } = await place();
    below.scan = () => Promise.reject(new Error("not allowed"));
    await plain().put(["facts"], "a", 1);
    expect(await plain().get(["facts"], "a")).toBe(1);
  });
});
