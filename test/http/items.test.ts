import { expect, test } from "vitest";
import { HTTPCheckpointer, HTTPStore } from "../../src/backends/http/index.ts";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { MemoryStoreDriver } from "../../src/backends/memory/store-driver.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { sqliteStore } from "../../src/backends/sqlite/index.ts";
import { serve } from "../../src/entry/server.ts";
import { BaseStore } from "../../src/store/base-store.ts";
import { storeCapabilities } from "../../src/store/driver/capabilities.ts";
import type { Change, WriteOutcome } from "../../src/store/driver/store-driver.ts";
import { Store } from "../../src/store/store.ts";
import { failureOf } from "../failure-of.ts";
import { rawRequest } from "./raw-requests.ts";
import { servedStore } from "./served-store.ts";

const NS = ["docs"];

/** Sends what it is told to, and then loses the answers to some of it. */
function forgetful(lose: (path: string) => boolean): typeof globalThis.fetch {
  return async (input, options) => {
    const answer = await globalThis.fetch(input, options);
    if (!lose(new URL(String(input)).pathname)) return answer;
    await answer.arrayBuffer();
    throw Object.assign(new TypeError("fetch failed"), {
      cause: Object.assign(new Error("gone"), { code: "ECONNRESET" }),
    });
  };
}

test("a write whose answer was lost is sent again, and counts once", async () => {
  await using there = await servedStore(new InMemoryStore());
  let lost = 0;
  const fetch = forgetful((path) => path.endsWith("/write") && ++lost % 3 !== 0);
  const client = there.client({ fetch, retry: { attempts: 4, baseDelayMs: 1 } });
  for (let at = 0; at < 5; at++) await client.update<number>(NS, "count", (n = 0) => n + 1);
  expect(lost).toBe(15);
  expect(await there.behind.getItem(NS, "count")).toMatchObject({ value: 5 });
});

test("what was refused by version arrives as the conflict it is, with what is there", async () => {
  await using there = await servedStore(new InMemoryStore());
  const client = there.client();
  const { version: expected } = await client.put(NS, "k", 1);
  const { version: actual } = await client.put(NS, "k", 2);
  expect(await failureOf(() => client.put(NS, "k", 3, { expectedVersion: expected }))).toMatchObject({
    code: "CONFLICT",
    context: { expected, actual, written: "no" },
  });
  expect(await failureOf(() => client.delete(NS, "k", { expectedVersion: "9" }))).toMatchObject({ code: "CONFLICT" });
});

test("openStore() takes the URL of a service, token included, and shows neither in an error", async () => {
  await using there = await servedStore(new InMemoryStore());
  const store = await openStore(`http://:${there.token}@127.0.0.1:${there.service.port}`);
  await store.put(NS, "k", 1);
  expect(await there.behind.get(NS, "k")).toBe(1);
  const wrong = await openStore(`http://:hf_${"x".repeat(43)}@127.0.0.1:${there.service.port}`);
  const failure = await failureOf(() => wrong.get(NS, "k"));
  expect(failure).toMatchObject({ code: "PERMISSION_DENIED" });
  expect(String(failure)).not.toContain("xxxx");
  await Promise.all([store.close(), wrong.close()]);
});

test("a service that is not there, and one that is something else, is never an empty store", async () => {
  const retry = { attempts: 1 };
  const unreachable = new HTTPStore({ baseUrl: "http://127.0.0.1:1", retry });
  const page = new HTTPStore({ baseUrl: "http://127.0.0.1:2", retry, fetch: async () => new Response("[]") });
  for (const store of [unreachable, page]) {
    for (const work of [
      () => store.get(NS, "k"),
      () => store.list(NS),
      () => store.search(NS, "words"),
      () => store.listNamespaces(),
      () => store.delete(NS, "k"),
      () => store.getEmbedding(NS, "k"),
    ]) {
      expect((await failureOf(work)).code).toMatch(/UNAVAILABLE|UNKNOWN/);
    }
  }
});

test("a service keeps threads, items or both, and says which", async () => {
  const [checkpointer, store] = [new MemoryCheckpointer(), new InMemoryStore()];
  await using items = await serve({ store, port: 0 });
  await using threads = await serve({ checkpointer, port: 0 });
  await using both = await serve({ checkpointer, store, port: 0 });
  const retry = { attempts: 1 };
  const missing = await failureOf(() => new HTTPStore({ baseUrl: threads.url, retry }).get(NS, "k"));
  expect([missing.code, missing.message]).toEqual(["UNSUPPORTED", expect.stringContaining("keeps no items")]);
  const none = await failureOf(() => new HTTPCheckpointer({ baseUrl: items.url, retry }).load("t"));
  expect([none.code, none.message]).toEqual(["UNSUPPORTED", expect.stringContaining("keeps no threads")]);
  expect(await new HTTPStore({ baseUrl: both.url }).get(NS, "k")).toBeUndefined();
  expect(await new HTTPCheckpointer({ baseUrl: both.url }).load("t")).toBeUndefined();
  for (const { port } of [items, threads, both]) {
    expect((await rawRequest(port, { method: "GET", path: "/readyz", headers: { host: "localhost" } })).status).toBe(
      200,
    );
  }
  await expect(serve({ port: 0 })).rejects.toThrow(TypeError);
  await expect(serve({ store: new ShortStore(), port: 0 })).rejects.toThrow(/stands on a driver/);
});

class ShortStore extends BaseStore {
  readonly capabilities = storeCapabilities({});
  put = async (): Promise<never> => Promise.reject(new Error("no"));
  getItem = async (): Promise<undefined> => undefined;
  delete = async (): Promise<boolean> => false;
  list = async (): Promise<never> => Promise.reject(new Error("no"));
}

test("a store that was opened for reading is served for reading", async () => {
  const driver = new MemoryStoreDriver();
  await new Store(driver).put(NS, "k", 1);
  await using there = await servedStore(new Store(driver, { access: "read" }));
  const client = there.client();
  expect(await client.get(NS, "k")).toBe(1);
  expect((await client.connect()).transactions).toBe(false);
  for (const work of [() => client.put(NS, "k", 2), () => client.delete(NS, "k"), () => client.clearNamespace(NS)]) {
    expect(await failureOf(work)).toMatchObject({ code: "PERMISSION_DENIED" });
  }
});

test("whatever was taken comes back: items of the largest size, by name, in lists and in searches", async () => {
  await using there = await servedStore(new InMemoryStore(), { maxBodyBytes: 8 * 1024 * 1024 });
  const client = there.client();
  const { limits } = await client.connect();
  expect(limits.maxItemBytes).toBe(1024 * 1024);
  // Every character doubles on the wire, and twelve of them are more than one answer holds.
  const large = '"\\\n'.repeat(limits.maxItemBytes / 6 - 2);
  const keys = Array.from({ length: 12 }, (_, index) => `k${String(index).padStart(2, "0")}`);
  for (const key of keys)
    await client.putWithEmbedding(NS, key, large, { embedding: [1, 2], index: { text: "found" } });
  expect(await failureOf(() => client.put(NS, "more", `${large}${large}`))).toMatchObject({ code: "TOO_LARGE" });
  const same = (items: readonly { key: string; value: unknown }[]): void => {
    expect(items.map(({ key }) => key).sort()).toEqual(keys);
    for (const { value } of items) expect(value === large).toBe(true);
  };
  same((await client.getItems(keys.map((key) => ({ namespace: NS, key })))).flatMap((item) => item ?? []));
  same(await client.list(NS));
  same(await client.search(NS, { query: "found", limit: 20 }));
  same(await client.searchByEmbedding(NS, { query: [1, 2], limit: 20 }));
  const batch = keys.map((key) => ({ namespace: NS, key, value: large }));
  const tooMany = await failureOf(() => client.putBatch(batch));
  expect([tooMany.code, tooMany.context.written]).toEqual(["TOO_LARGE", "no"]);
  expect(tooMany.message).toContain("put fewer at once");
});

test("an item of more than a service is sure to take waits for what the service says", async () => {
  await using there = await servedStore(new InMemoryStore());
  const client = there.client();
  await client.put(NS, "first", "x".repeat(200_000));
  expect(await client.get(NS, "first")).toHaveLength(200_000);
});

/** What a client of the library never sends. */
const PUT = { kind: "put", namespace: NS, key: "k", writeKey: "w", digest: "d", version: "v", value: "1" };
const SCAN = { namespace: NS, recursive: true, limit: 5 };
test.each([
  ["a value that is no JSON", "write", { changes: [{ ...PUT, value: "{" }] }],
  ["a value of a kind that does not exist", "write", { changes: [{ ...PUT, value: '{"$":"function"}' }] }],
  ["a value that is undefined", "write", { changes: [{ ...PUT, value: '{"$":"undefined"}' }] }],
  ["metadata that are a list", "write", { changes: [{ ...PUT, metadata: "[]" }] }],
  ["a value that is a million deep", "write", { changes: [{ ...PUT, value: "[".repeat(1e6) }] }],
  [
    "words with a quote",
    "write",
    { changes: [{ ...PUT, words: { text: 'a" OR b', label: "", before: "", after: "" } }] },
  ],
  ["a vector with NaN", "write", { changes: [{ ...PUT, vector: Buffer.from([0, 0, 192, 127]).toString("base64") }] }],
  ["half a vector", "write", { changes: [{ ...PUT, vector: "AAA=" }] }],
  ["one item twice", "write", { changes: [PUT, { ...PUT, writeKey: "other" }] }],
  ["one write key twice", "write", { changes: [PUT, { ...PUT, key: "other" }] }],
  ["a version with a blank", "write", { changes: [{ ...PUT, version: "a b" }] }],
  ["a version that is expected and is a number", "write", { changes: [{ ...PUT, expected: 0 }] }],
  ["a digest that is empty", "write", { changes: [{ ...PUT, digest: "" }] }],
  ["a namespace that is empty", "write", { changes: [{ ...PUT, namespace: [] }] }],
  ["a segment that is empty", "write", { changes: [{ ...PUT, namespace: [""] }] }],
  ["a separator in a segment", "write", { changes: [{ ...PUT, namespace: ["a\u001fb"] }] }],
  ["a key with a control character", "write", { changes: [{ ...PUT, key: "\u0001" }] }],
  ["half an end", "write", { changes: [{ ...PUT, ttlMs: 1.5 }] }],
  ["no changes", "write", { changes: [] }],
  ["a field that does not exist", "write", { changes: [{ ...PUT, fields: {} }] }],
  ["an operator that does not exist", "scan", { ...SCAN, filter: { a: { $regex: "x" } } }],
  ["a filter that is a text", "scan", { ...SCAN, filter: "all" }],
  ["a limit without end", "scan", { ...SCAN, limit: 1e9 }],
  ["a search for an operator", "search", { ...SCAN, words: ["NEAR("] }],
  ["a search for a mask", "search", { ...SCAN, words: ["a*"] }],
] as const)("%s is refused with 400, and nothing is written", async (_, path, body) => {
  await using there = await servedStore(new InMemoryStore());
  const headers = { host: "localhost", authorization: `Bearer ${there.token}`, "content-type": "application/json" };
  const asked = { method: "POST", path: `/v1/items/${path}`, headers, body: JSON.stringify(body) };
  const answer = await rawRequest(there.service.port, asked);
  expect([answer.status, JSON.parse(answer.body)]).toMatchObject([400, { code: "INVALID_ARGUMENT" }]);
  expect(answer.body, "it is about the request, and no failure of the service").not.toContain("instance");
  expect(await there.behind.list([], { recursive: true })).toEqual([]);
});

test("a failure of the store is told by its code, and not by its words", async () => {
  class Failing extends MemoryStoreDriver {
    override async write(_changes: readonly Change[]): Promise<WriteOutcome> {
      throw new Error("password of the database");
    }
  }
  const seen: unknown[] = [];
  const retry = { attempts: 1 };
  await using there = await servedStore(new Store(new Failing(), { retry }), {
    onFailure: ({ error }) => seen.push(error),
  });
  const failure = await failureOf(() => there.client({ retry }).put(NS, "k", 1));
  expect([failure.code, failure.context.written]).toEqual(["UNKNOWN", "unknown"]);
  expect(String(failure)).not.toContain("password");
  expect(seen).toHaveLength(1);
});

test.each([
  ["memory", () => new InMemoryStore()],
  ["sqlite", () => sqliteStore({ path: ":memory:" })],
])("%s: a limit of 0 finds and clears nothing, and no words find nothing", async (_, open) => {
  await using there = await servedStore(open());
  await there.client().putWithEmbedding(NS, "k", { text: "zebra" }, [1, 2]);
  const headers = { host: "localhost", authorization: `Bearer ${there.token}`, "content-type": "application/json" };
  const vector = Buffer.from(Float32Array.of(1, 2).buffer).toString("base64");
  const asked: readonly (readonly [path: string, body: object, answer: object])[] = [
    ["clear", { ...SCAN, limit: 0, before: 1e15 }, { count: 0 }],
    ["search", { ...SCAN, limit: 0, words: ["zebra"] }, { hits: [], rest: [] }],
    ["search", { ...SCAN, words: [] }, { hits: [], rest: [] }],
    ["nearest", { ...SCAN, limit: 0, vector }, { hits: [], rest: [] }],
    ["namespaces", { prefix: [], limit: 0 }, { namespaces: [] }],
    ["scan", { ...SCAN, limit: 0 }, { items: [] }],
  ];
  for (const [path, body, wanted] of asked) {
    const request = { method: "POST", path: `/v1/items/${path}`, headers, body: JSON.stringify(body) };
    const answer = await rawRequest(there.service.port, request);
    expect([answer.status, JSON.parse(answer.body)], path).toMatchObject([200, wanted]);
  }
  expect(await there.behind.get(NS, "k")).toEqual({ text: "zebra" });
});
