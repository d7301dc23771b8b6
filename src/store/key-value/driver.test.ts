import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryBucket } from "../../../test/memory-bucket.ts";
import type { StoreOptions } from "../items/store-access.ts";
import { Store } from "../store.ts";
import { KeyValueStoreDriver } from "./driver.ts";

const storeOn = (bucket: MemoryBucket, mostSearched = 100, options: StoreOptions = {}): Store =>
  new Store(
    new KeyValueStoreDriver(
      { name: "bucket", durability: "memory", open: async () => bucket, classify: () => undefined },
      { prefix: "p/", clock: { now: async () => Date.now() }, mostSearched },
    ),
    { retry: { attempts: 1 }, ...options },
  );

/** Which requests a call makes, once others have made contact: "2 get, 1 put". */
async function requestsOf(bucket: MemoryBucket, call: () => Promise<unknown>): Promise<string> {
  const from = bucket.requests.length;
  await call();
  const kinds = bucket.requests.slice(from).map(({ kind }) => kind);
  const counts = ["list", "get", "put", "delete"].map((kind) => [kinds.filter((each) => each === kind).length, kind]);
  return counts.flatMap(([count, kind]) => (count === 0 ? [] : [`${count} ${kind}`])).join(", ");
}

const numbered = (count: number, value: unknown = "walrus") =>
  Array.from({ length: count }, (_, index) => ({
    namespace: ["n"],
    key: `k${String(index).padStart(4, "0")}`,
    value,
    embedding: [1, index],
  }));

test("each call costs the requests that the docs say", async () => {
  const bucket = new MemoryBucket();
  const store = storeOn(bucket);
  await store.putBatch(numbered(20));
  await store.put(["users", "u1"], "k", 1);
  const costs = {
    get: await requestsOf(bucket, () => store.get(["n"], "k0001")),
    "put, replacing": await requestsOf(bucket, () => store.put(["n"], "k0001", 2)),
    "put, new": await requestsOf(bucket, () => store.put(["n"], "new", 2)),
    "put with a vector": await requestsOf(bucket, () => store.putWithEmbedding(["n"], "k0001", 2, [1, 1])),
    "put about a person": await requestsOf(bucket, () => store.put(["users", "u1"], "k", 2)),
    delete: await requestsOf(bucket, () => store.delete(["n"], "k0002")),
    "putBatch of 10": await requestsOf(bucket, () =>
      store.putBatch(numbered(10, "seal").map(({ embedding: _, ...entry }) => entry)),
    ),
    "list of 20": await requestsOf(bucket, () => store.list(["n"], { limit: 20 })),
    "search among 21": await requestsOf(bucket, () => store.search(["n"], "walrus")),
  };
  expect(costs).toEqual({
    get: "1 get",
    "put, replacing": "1 get, 1 put",
    "put, new": "2 get, 1 put",
    "put with a vector": "2 get, 1 put",
    "put about a person": "2 get, 2 put",
    delete: "1 list, 2 get, 2 put",
    "putBatch of 10": "10 get, 22 put, 1 delete",
    "list of 20": "1 list, 21 get",
    "search among 21": "1 list, 21 get",
  });
});

test("a list beside a batch that is about to be committed takes none of its new items away", async () => {
  class LookedAt extends MemoryBucket {
    look: (() => Promise<unknown>) | undefined;

    override async put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
      const { look } = this;
      if (name.startsWith("p/batches/") && expected !== undefined && look !== undefined) {
        this.look = undefined;
        await look();
      }
      return super.put(name, bytes, expected);
    }
  }
  const bucket = new LookedAt();
  const [writer, reader] = [storeOn(bucket), storeOn(bucket)];
  await writer.put(["n"], "other", 0);
  bucket.look = async () => expect((await reader.list(["n"])).map(({ key }) => key)).toEqual(["other"]);
  await writer.putBatch([1, 2].map((value) => ({ namespace: ["n"], key: `new ${value}`, value })));
  expect(bucket.look).toBeUndefined();
  expect((await reader.list(["n"])).map(({ key, value }) => [key, value])).toEqual([
    ["new 1", 1],
    ["new 2", 2],
    ["other", 0],
  ]);
});

test("a search that would have to look at more items than it may is refused, and never answers from some of them", async () => {
  const bucket = new MemoryBucket();
  const store = storeOn(bucket, 100);
  await store.putBatch(numbered(100));
  const searches = {
    text: () => store.search(["n"], "walrus"),
    vector: () => store.searchByEmbedding(["n"], { query: [1, 0] }),
    filter: () => store.list(["n"], { filter: { absent: true } }),
  };
  expect(store.capabilities.limits.maxExactVectors).toBe(100);
  expect(await searches.text()).toHaveLength(10);
  expect(await searches.vector()).toHaveLength(10);
  expect(await searches.filter()).toHaveLength(0);
  await store.put(["n"], "one more", "seal");
  for (const [name, search] of Object.entries(searches)) {
    const failure = await failureOf(search);
    expect(failure, name).toMatchObject({ code: "TOO_LARGE" });
    expect(String(failure)).toContain("100 items");
  }
  expect(await store.list(["n"], { limit: 1000 })).toHaveLength(101);
});

/** Names of the objects of items. */
const itemNames = (bucket: MemoryBucket): readonly string[] =>
  [...bucket.objects.keys()].filter((name) => name.startsWith("p/items/"));

test("a damaged item is named, and no trouble of another one", async () => {
  const bucket = new MemoryBucket();
  const store = storeOn(bucket);
  const long = `long ${"k".repeat(500)}`;
  await store.putBatch([...numbered(3), { namespace: ["n"], key: long, value: "walrus" }]);
  for (const name of itemNames(bucket).filter((each) => each.endsWith("k0001") || each.includes("~~"))) {
    const found = bucket.objects.get(name);
    if (found === undefined) throw new Error(name);
    bucket.objects.set(name, {
      ...found,
      bytes: Buffer.concat([found.bytes.subarray(0, -9), Buffer.from("damage!\n")]),
    });
  }
  const listed = await store.list(["n"]);
  expect(listed.map(({ key }) => key)).toEqual(["k0000", "k0002"]);
  expect(listed.warnings.map(({ code }) => code)).toEqual(["CORRUPT", "CORRUPT"]);
  expect(listed.warnings.map(({ message }) => message).join()).toContain('"k0001"');
  expect(await store.getBatch([{ namespace: ["n"], key: "k0002" }])).toEqual(["walrus"]);
  expect((await store.search(["n"], "walrus")).map(({ key }) => key).toSorted()).toEqual(["k0000", "k0002"]);
  expect(await failureOf(() => store.get(["n"], "k0001"))).toMatchObject({ code: "CORRUPT" });
  expect(await failureOf(() => store.put(["n"], "k0001", 1, { expectedVersion: null }))).toMatchObject({
    code: "CORRUPT",
  });
  await store.put(["n"], "k0001", "mended");
  expect(await store.get(["n"], "k0001")).toBe("mended");
  expect(await store.delete(["n"], long)).toBe(false);
  expect((await store.list(["n"])).warnings).toEqual([]);
});

test("an item that a newer build wrote is never overwritten, and what is no item is named by an erasure's look", async () => {
  const bucket = new MemoryBucket();
  const store = storeOn(bucket);
  await store.putBatch(numbered(2));
  const name = itemNames(bucket).find((each) => each.endsWith("k0000")) ?? "";
  const found = bucket.objects.get(name);
  if (found === undefined) throw new Error(name);
  const bytes = Buffer.from(found.bytes.toString().replace('{"format":1', '{"format":9'));
  bucket.objects.set(name, { ...found, bytes });
  expect(await failureOf(() => store.put(["n"], "k0000", 1))).toMatchObject({ code: "INCOMPATIBLE" });
  expect((await store.list(["n"])).map(({ key }) => key)).toEqual(["k0001"]);
  bucket.objects.set("p/items/_01--/x", found);
  bucket.objects.set("p/items/Notes.txt", found);
  expect((await store.list([], { recursive: true })).map(({ key }) => key)).toEqual(["k0001"]);
  const driver = new KeyValueStoreDriver(
    { name: "bucket", durability: "memory", open: async () => bucket, classify: () => undefined },
    { prefix: "p/", clock: { now: async () => Date.now() } },
  );
  expect(await failureOf(() => driver.verify())).toMatchObject({
    code: "CORRUPT",
    message: expect.stringContaining("Notes.txt"),
  });
});

test("names that are too long for an object's are listed in their order, by pages of any size", async () => {
  const bucket = new MemoryBucket();
  const store = storeOn(bucket, 10_000);
  const deep = Array.from({ length: 6 }, (_, index) => `${index} ${"\u{1f600}".repeat(25)}`);
  const beginnings = [..."ca b"].map((letter) => `${"k".repeat(147)}${letter}`);
  const ends = ["", "x", "\u{1f600}", "-", "Z"].flatMap((end) => [end, `${end}${"t".repeat(80)}`]);
  const keys = beginnings.flatMap((beginning) => ends.map((end) => beginning + end));
  const short = ["k", "kk", `${"k".repeat(146)}`];
  const all = [...keys, ...short].map((key) => ({ namespace: ["n"], key, value: 1 }));
  const below = keys.slice(0, 4).map((key) => ({ namespace: deep, key, value: 1 }));
  await store.putBatch([...all, ...below, { namespace: [...deep, "below"], key: "k", value: 1 }]);
  const inOrder = (names: readonly string[]) =>
    names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  for (const limit of [1, 3, 100]) {
    for (const [namespace, expected] of [
      [["n"], inOrder([...keys, ...short])],
      [deep, inOrder(keys.slice(0, 4))],
    ] as const) {
      const listed: string[] = [];
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        const page = await store.list(namespace, { limit, ...(cursor !== undefined && { cursor }) });
        listed.push(...page.map(({ key }) => key));
        cursor = page.cursor;
      }
      expect(listed, `pages of ${limit}`).toEqual(expected);
    }
  }
  expect(await store.listNamespaces()).toEqual([deep, [...deep, "below"], ["n"]]);
  expect(await store.listNamespaces({ prefix: deep })).toEqual([deep, [...deep, "below"]]);
});
