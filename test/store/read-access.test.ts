import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, expect, test } from "vitest";
import { fileStore } from "../../src/backends/file/index.ts";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { postgresqlStore } from "../../src/backends/postgres/index.ts";
import { redisStore } from "../../src/backends/redis/index.ts";
import { sqliteStore } from "../../src/backends/sqlite/index.ts";
import type { Store } from "../../src/store/store.ts";
import { failureOf } from "../failure-of.ts";
import { servedStore } from "../http/served-store.ts";
import { hashedFiles } from "../read-access/hashed-files.ts";
import { clearPrefix, freshPrefix } from "../redis/fixtures.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";

const NS = ["a"];

async function fill(store: Store): Promise<void> {
  await store.putWithEmbedding(NS, "k", { text: "a walrus", n: 1 }, { embedding: [1, 0], ttlSeconds: 3600 });
  await store.put(NS, "ends", 1, { ttlSeconds: 0.01 });
  await store.close();
}

/** Everything that looks works, and everything that writes is refused. */
async function proveLooking(store: Store): Promise<void> {
  expect(await store.get(NS, "k")).toEqual({ text: "a walrus", n: 1 });
  expect(await store.list(NS, { filter: { n: 1 } })).toHaveLength(1);
  expect(await store.search(NS, "walrus")).toHaveLength(1);
  expect(await store.searchByEmbedding(NS, { query: [1, 0] })).toHaveLength(1);
  expect(await store.getEmbedding(NS, "k")).toEqual([1, 0]);
  expect(await store.listNamespaces()).toEqual([NS]);
  expect(store.capabilities).toMatchObject({ compareAndSet: false, transactions: false, ttl: false, search: true });
  const writes: Readonly<Record<string, () => Promise<unknown>>> = {
    put: () => store.put(NS, "k", 2),
    putWithEmbedding: () => store.putWithEmbedding(NS, "k", 2, [1, 0]),
    putBatch: () => store.putBatch([{ namespace: NS, key: "k", value: 2 }]),
    delete: () => store.delete(NS, "k"),
    update: () => store.update(NS, "k", () => 2),
    clearNamespace: () => store.clearNamespace(NS),
  };
  for (const [name, write] of Object.entries(writes)) {
    expect(await failureOf(write), name).toMatchObject({ code: "PERMISSION_DENIED" });
  }
  await store.close();
}

const folder = await mkdtemp(join(tmpdir(), "holdfast-looking-"));
afterAll(() => rm(folder, { recursive: true }));

test("http: a client that looks asks the service for nothing that writes", async () => {
  const behind = new InMemoryStore();
  await using there = await servedStore(behind);
  await fill(there.client());
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = (input, options) => {
    asked.push(new URL(String(input)).pathname);
    return globalThis.fetch(input, options);
  };
  const reader = there.client({ access: "read", fetch });
  await reader.connect();
  await proveLooking(reader);
  expect(asked.filter((path) => /write|remove|clear/.test(path))).toEqual([]);
});

test("sqlite: looking leaves the file as it is, and makes none", async () => {
  const path = join(folder, "items.db");
  await fill(sqliteStore({ path }));
  const before = await readFile(path);
  await proveLooking(sqliteStore({ path, access: "read" }));
  expect((await readFile(path)).equals(before)).toBe(true);
  const missing = join(folder, "missing.db");
  const store = sqliteStore({ path: missing, access: "read" });
  expect(await failureOf(() => store.get(NS, "k"))).toMatchObject({ code: "NOT_FOUND" });
  expect(existsSync(missing)).toBe(false);
  await store.close();
});

test("file: looking leaves every file as it is, and makes no folder", async () => {
  const directory = join(folder, "items");
  await fill(fileStore({ directory }));
  const before = await hashedFiles(directory);
  await proveLooking(fileStore({ directory, access: "read" }));
  expect(await hashedFiles(directory)).toEqual(before);
  const missing = join(folder, "missing");
  const store = fileStore({ directory: missing, access: "read" });
  expect(await failureOf(() => store.get(NS, "k"))).toMatchObject({ code: "NOT_FOUND" });
  expect(existsSync(missing)).toBe(false);
  await store.close();
});

await describeWithService("postgres", (url) => {
  const { schema, prefix, sql, dispose } = postgresPlace(url);
  afterAll(dispose);

  test("looking changes no row, and makes no tables", async () => {
    const tablePrefix = prefix();
    await fill(postgresqlStore({ dsn: url, schema, tablePrefix }));
    const rows = (): Promise<unknown> => sql(`SELECT *, xmin FROM ${schema}.${tablePrefix}items ORDER BY id`);
    const before = await rows();
    await proveLooking(postgresqlStore({ dsn: url, schema, tablePrefix, access: "read" }));
    expect(await rows()).toEqual(before);
    const other = prefix();
    const store = postgresqlStore({ dsn: url, schema, tablePrefix: other, access: "read" });
    expect(await failureOf(() => store.get(NS, "k"))).toMatchObject({ code: "NOT_FOUND" });
    expect(await sql("SELECT to_regclass($1) AS there", [`${schema}.${other}items`])).toEqual([{ there: null }]);
    await store.close();
  });
});

await describeWithService("redis", (url) => {
  test("looking changes no key", async () => {
    const prefix = freshPrefix();
    const admin = new Redis(url);
    await fill(redisStore({ url, prefix }));
    const dumped = async (): Promise<readonly unknown[]> =>
      Promise.all((await admin.keys(`${prefix}*`)).sort().map(async (key) => [key, await admin.dumpBuffer(key)]));
    const before = await dumped();
    await proveLooking(redisStore({ url, prefix, access: "read" }));
    expect(await dumped()).toEqual(before);
    await clearPrefix(admin, prefix);
    admin.disconnect();
  });
});
