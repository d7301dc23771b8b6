import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { afterAll, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { postgresqlStore } from "../../src/backends/postgres/index.ts";
import { postgresStoreOptions } from "../../src/backends/postgres/store.ts";
import { PostgresStoreDriver } from "../../src/backends/postgres/store-driver.ts";
import { redisStore } from "../../src/backends/redis/index.ts";
import { sqliteStore } from "../../src/backends/sqlite/index.ts";
import type { StoreFilter } from "../../src/store/search/filter.ts";
import { Store } from "../../src/store/store.ts";
import { failureOf } from "../failure-of.ts";
import { clearPrefix, freshPrefix } from "../redis/fixtures.ts";
import { CREATE_VECTOR } from "../services/pgvector.ts";
import { observedPool } from "../services/postgres-observed-pool.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { testRecall } from "./recall.ts";

/** Enough that a filter which keeps one in a hundred leaves fifty. The figures for more are in bench/. */
const COUNT = 5000;

const folder = await mkdtemp(join(tmpdir(), "holdfast-recall-"));
afterAll(() => rm(folder, { recursive: true }));

testRecall({ name: "memory", count: COUNT, open: async () => new InMemoryStore() });
testRecall({ name: "sqlite", count: COUNT, open: async () => sqliteStore({ path: join(folder, "items.db") }) });

await describeWithService("pgvector", (url) => {
  const { schema, prefix, sql, dispose } = postgresPlace(url);
  afterAll(dispose);

  testRecall({
    name: "pgvector, exactly",
    count: COUNT,
    open: async () => {
      await sql(CREATE_VECTOR);
      return postgresqlStore({ dsn: url, schema, tablePrefix: prefix() });
    },
  });

  // Where more than 500 match, the index is asked; so half of 5,000 go through it.
  testRecall({
    name: "pgvector, by its index where many match",
    count: COUNT,
    open: async () => {
      await sql(CREATE_VECTOR);
      const options = postgresStoreOptions({
        dsn: url,
        schema,
        tablePrefix: prefix(),
        dimension: 384,
        vectorIndex: true,
      });
      const driver = new PostgresStoreDriver({ ...options, exactUpTo: 500 });
      await driver.connect();
      expect(driver.capabilities.vectorSearch).toBe("index");
      return new Store(driver, { dimension: 384 });
    },
  });

  test("the plan is ours: the index is asked where many match, and never where few do", async () => {
    const pool = new Pool({ connectionString: url });
    const sent: string[] = [];
    const observed = observedPool(pool, ({ text }) => void sent.push(text));
    const options = postgresStoreOptions({
      pool: observed,
      schema,
      tablePrefix: prefix(),
      dimension: 3,
      vectorIndex: true,
    });
    const store = new Store(new PostgresStoreDriver({ ...options, exactUpTo: 5 }), { dimension: 3 });
    await store.putBatch(
      Array.from({ length: 300 }, (_, index) => ({
        namespace: ["n"],
        key: `${index}`,
        value: { rare: index % 100 === 1 },
        embedding: [1, index / 100, 1 - index / 200],
      })),
    );
    const isIndexAsked = async (filter: StoreFilter): Promise<boolean> => {
      sent.length = 0;
      await store.searchByEmbedding(["n"], { query: [1, 0, 1], limit: 10, filter });
      return sent.some((text) => text.includes("hnsw.ef_search"));
    };
    expect(await isIndexAsked({})).toBe(true);
    expect(await isIndexAsked({ rare: true })).toBe(false);
    expect(await isIndexAsked({ rare: { $ne: true } })).toBe(true);
    // What the index did not find is compared after all: 297 match, and it gives at most 250.
    const all = await store.searchByEmbedding(["n"], { query: [1, 0, 1], limit: 300, filter: { rare: { $ne: true } } });
    expect(all).toHaveLength(297);
    await store.close();
    await pool.end();
  });
});

await describeWithService("postgres", (url) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);

  testRecall({
    name: "postgres without pgvector",
    count: COUNT,
    open: async () => postgresqlStore({ dsn: url, schema, tablePrefix: prefix() }),
  });

  test("without pgvector, more vectors than can be compared are refused, with what to do", async () => {
    const options = postgresStoreOptions({ dsn: url, schema, tablePrefix: prefix() });
    const store = new Store(new PostgresStoreDriver({ ...options, exactUpTo: 5 }));
    const entries = Array.from({ length: 7 }, (_, index) => ({
      namespace: ["n", String(index % 2)],
      key: `${index}`,
      value: { index },
      embedding: [1, index],
    }));
    await store.putBatch(entries);
    const failure = await failureOf(() => store.searchByEmbedding(["n"], { query: [1, 0] }));
    expect(failure).toMatchObject({ code: "TOO_LARGE" });
    expect(failure.message).toContain("CREATE EXTENSION vector");
    expect(await store.searchByEmbedding(["n", "0"], { query: [1, 0] })).toHaveLength(4);
    expect(await store.searchByEmbedding(["n"], { query: [1, 0], filter: { index: { $lt: 3 } } })).toHaveLength(3);
    await store.close();
  });

  test("an index without pgvector is refused at the first contact", async () => {
    const store = postgresqlStore({ dsn: url, schema, tablePrefix: prefix(), dimension: 3, vectorIndex: true });
    expect(await failureOf(() => store.connect())).toMatchObject({ code: "UNSUPPORTED" });
    await store.close();
  });
});

await describeWithService("redis", (url) => {
  const prefix = freshPrefix();
  afterAll(async () => {
    const admin = new Redis(url);
    await clearPrefix(admin, prefix);
    admin.disconnect();
  });

  testRecall({ name: "redis", count: COUNT, open: async () => redisStore({ url, prefix }) });

  test("more than 10,000 vectors in what is searched are refused, with what to do", async () => {
    const store = redisStore({ url, prefix: `${prefix}more:` });
    for (let at = 0; at < 10_001; at += 500) {
      const entries = Array.from({ length: Math.min(500, 10_001 - at) }, (_, index) => ({
        namespace: ["n", at + index === 0 ? "few" : "many"],
        key: `${at + index}`,
        value: 1,
        embedding: [1, at + index],
        index: false as const,
      }));
      await store.putBatch(entries);
    }
    const failure = await failureOf(() => store.searchByEmbedding(["n"], { query: [1, 0] }));
    expect(failure).toMatchObject({ code: "TOO_LARGE" });
    expect(failure.message).toContain("at most 10000");
    expect(await store.searchByEmbedding(["n", "few"], { query: [1, 0] })).toHaveLength(1);
    expect(await store.searchByEmbedding(["n", "many"], { query: [1, 0], limit: 3 })).toHaveLength(3);
    expect(store.capabilities.limits.maxExactVectors).toBe(10_000);
    await store.close();
  });
});
