import { afterAll, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { onMessage } from "../../../test/oracle-stand-in/install.ts";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { StateError } from "../../errors.ts";
import { Store } from "../../store/store.ts";
import { openStore } from "../open-store.ts";
import { OracleCheckpointSaver, OracleStore, oracleCheckpointer, oracleConnection, oracleDdl } from "./index.ts";
import { oracleStoreOptions } from "./store.ts";
import { OracleStoreDriver } from "./store-driver.ts";

const NS = ["memory", "u42"];
/** A vector close to the direction `at`. */
const pointing = (length: number, at: number): number[] =>
  Array.from({ length }, (_, index) => (index === at ? 1 : 0.001 * ((index * 7 + at) % 5)));

/** Compare-and-set until it succeeds, however long that takes: `update` gives up after seconds. */
async function countOn(store: OracleStore): Promise<void> {
  for (;;) {
    const item = await store.getItem<number>(NS, "count");
    const put = store.put(NS, "count", (item?.value ?? 0) + 1, { expectedVersion: item?.version ?? null });
    const failure: unknown = await put.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) return;
    if (!StateError.is(failure, "CONFLICT")) throw failure;
  }
}

await describeWithStandIn(
  (place) => {
    const { dsn, user, password, sql } = place;
    const connection = oracleConnection({ dsn, user, password });
    const kept = connection.lease(async () => undefined);
    afterAll(() => kept.release());
    const open = (tableName = place.tableName(), options: object = {}): OracleStore =>
      new OracleStore({ connection, tableName, ...options });

    test("the program of the seed runs as it is: put, putWithEmbedding, searchByEmbedding", async () => {
      const store = new OracleStore({ dsn, user, password, tableName: "locus_store", dimension: 1024 });
      await store.put(NS, "fact-1", { note: "user likes cats" });
      const embedding = pointing(1024, 5);
      await store.putWithEmbedding(NS, "fact-2", { note: "user dislikes mornings" }, { embedding });
      await store.putWithEmbedding(NS, "fact-3", { note: "user sails" }, { embedding: pointing(1024, 900) });
      const hits = await store.searchByEmbedding(NS, { query: pointing(1024, 5), limit: 5 });
      expect(hits.map(({ key }) => key)).toEqual(["fact-2", "fact-3"]);
      expect(hits[0]?.score).toBeCloseTo(1, 5);
      const rows = await sql(`SELECT key, value::json ->> 'note' AS note FROM ${user}.locus_store ORDER BY key`);
      expect(rows[0]).toEqual({ key: "fact-1", note: "user likes cats" });
      await store.close();
    });

    test("a vector of a thousand numbers comes back exactly, in another instance", async () => {
      const tableName = place.tableName();
      const [one, other] = [open(tableName, { dimension: 1000 }), open(tableName)];
      const vector = Float32Array.from({ length: 1000 }, (_, index) => Math.sin(index) / 3);
      await one.putWithEmbedding(NS, "k", 1, vector);
      expect(await other.getEmbedding(NS, "k")).toEqual([...vector]);
      expect((await other.searchByEmbedding(NS, { query: vector })).map(({ key }) => key)).toEqual(["k"]);
      await Promise.all([one.close(), other.close()]);
    });

    test("without a dimension it keeps values and no vectors, and says so; with one, vectors of another length are refused", async () => {
      const tableName = place.tableName();
      const plain = open(tableName);
      await plain.put(NS, "k", { a: 1 });
      expect(plain.capabilities.semanticSearch).toBe(false);
      expect(await failureOf(() => plain.putWithEmbedding(NS, "v", 1, [1, 2]))).toMatchObject({ code: "UNSUPPORTED" });
      // The column is added to the existing table.
      const withVectors = open(tableName, { dimension: 3 });
      expect(await withVectors.get(NS, "k")).toEqual({ a: 1 });
      await withVectors.putWithEmbedding(NS, "v", 1, [1, 2, 3]);
      const wrong = open(tableName, { dimension: 4 });
      expect(await failureOf(() => wrong.putWithEmbedding(NS, "w", 1, [1, 2, 3, 4]))).toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining("vectors of 3 numbers"),
      });
      await withVectors.clearNamespace(NS);
      expect(
        await failureOf(() => open(tableName, { dimension: 4 }).putWithEmbedding(NS, "w", 1, [1, 2, 3, 4])),
      ).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("another dimension") });
      for (const store of [plain, withVectors, wrong]) await store.close();
    });

    test("an instance without a dimension removes the vector together with the value that it replaces", async () => {
      const tableName = place.tableName();
      const withVectors = open(tableName, { dimension: 2 });
      await withVectors.putWithEmbedding(NS, "k", 1, [1, 0]);
      const plain = open(tableName);
      await plain.put(NS, "k", 2);
      expect(await withVectors.searchByEmbedding(NS, { query: [1, 0] })).toEqual([]);
      await Promise.all([plain.close(), withVectors.close()]);
    });

    describe.each(["hnsw", "ivf"] as const)("with an index of the kind %s", (vectorIndex) => {
      test("many vectors are searched through it, and a filter that leaves few still finds them all", async () => {
        const tableName = place.tableName();
        const options = { connection, tableName, dimension: 8, vectorIndex };
        const driver = new OracleStoreDriver({ ...oracleStoreOptions(options), exactUpTo: 20 });
        const store = new Store(driver, options);
        await store.putBatch(
          Array.from({ length: 60 }, (_, index) => ({
            namespace: NS,
            key: `v${index}`,
            value: { index },
            embedding: pointing(8, index % 8).map((each, at) => each + (at === (index + 1) % 8 ? index / 1000 : 0)),
          })),
        );
        expect(store.capabilities.vectorSearch).toBe("index");
        const seen: string[] = [];
        const stop = onMessage(({ sql: statement = "" }) => void seen.push(statement));
        const hits = await store.searchByEmbedding(NS, { query: pointing(8, 3), limit: 3 });
        stop();
        expect(hits.map(({ value }) => (value as { index: number }).index % 8)).toEqual([3, 3, 3]);
        expect(seen.some((statement) => statement.includes("FETCH APPROX FIRST"))).toBe(true);
        const few = await store.searchByEmbedding(NS, {
          query: pointing(8, 3),
          filter: { index: { $gte: 58 } },
          limit: 5,
        });
        expect(few).toHaveLength(2);
        await store.close();
      });
    });

    test("segments of a namespace: an empty one is refused, and emoji, blanks and percent signs are ordinary characters", async () => {
      const store = open();
      expect(await failureOf(() => store.put(["a", ""], "k", 1))).toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining("must not be empty"),
      });
      const namespaces = [["🧵"], ["🧵", " "], ["🧵", "%"], ["🧵", "_"], ["🧵 "]];
      for (const namespace of namespaces) await store.put(namespace, "😀", namespace.join("|"));
      for (const namespace of namespaces) expect(await store.get(namespace, "😀")).toBe(namespace.join("|"));
      expect(await store.listNamespaces({ prefix: ["🧵"] })).toHaveLength(4);
      await store.put(["a"], "empty", "");
      expect(await store.get(["a"], "empty")).toBe("");
      await store.close();
    });

    test("a value of ten megabytes, with words and metadata, is kept and found", async () => {
      const store = open();
      const text = `needle ${"ä".repeat(5 * 1024 * 1024)}`;
      await store.put(NS, "large", { text }, { metadata: { note: "x".repeat(9000) }, index: false });
      await store.put(NS, "words", { text: `needle ${"hay ".repeat(20_000)}` });
      expect((await store.get<{ text: string }>(NS, "large"))?.text).toHaveLength(text.length);
      expect((await store.getItem(NS, "large"))?.metadata["note"]).toHaveLength(9000);
      expect((await store.search(NS, { query: "needle", mode: "text" })).map(({ key }) => key)).toEqual(["words"]);
      await store.close();
    });

    test("four instances that change one counter and create the same items at once lose nothing, and no caller sees ORA-00001", async () => {
      const tableName = place.tableName();
      const stores = Array.from({ length: 4 }, () => open(tableName));
      await stores[0]?.connect();
      await Promise.all(
        stores.map(async (store, who) => {
          for (let round = 0; round < 10; round++) {
            await countOn(store);
            // The same items in two orders: locking each in the given order would end in a deadlock.
            const keys = ["a", "b", "c", "d"].map((key) => `${key}${round}`);
            const items = (who % 2 === 0 ? keys : keys.toReversed()).map((key) => ({ namespace: NS, key, value: who }));
            await store.putBatch(items);
          }
        }),
      );
      expect(await stores[0]?.get(NS, "count")).toBe(40);
      const created = await Promise.allSettled(
        stores.map((store) => store.put(NS, "new", 1, { expectedVersion: null })),
      );
      expect(created.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      const refused = created.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
      for (const reason of refused) expect(reason).toMatchObject({ code: "CONFLICT" });
      for (const store of stores) await store.close();
    });

    test("a batch whose last change is refused writes nothing, also where it takes several blocks", async () => {
      const store = open();
      await store.put(NS, "there", 1);
      for (const length of [3, 40]) {
        const items = Array.from({ length }, (_, index) => ({ namespace: NS, key: `k${index}`, value: index }));
        const refused = { namespace: NS, key: "there", value: 2, expectedVersion: null };
        expect(await failureOf(() => store.putBatch([...items, refused]))).toMatchObject({ code: "CONFLICT" });
        expect(await store.list(NS)).toHaveLength(1);
      }
      await store.close();
    });

    test("a user with only row privileges can do everything that a store does", async () => {
      const app = await place.addUser();
      const tableName = `${user}.ITEMS`;
      const lease = connection.lease(async (handle) => handle);
      const statements = oracleDdl({ of: "store", tableName, dimension: 2, vectorIndex: "hnsw", role: app.user });
      for (const statement of statements) await (await lease.get()).ask(statement, {}, true);
      await lease.release();
      const indexed = { tableName, dimension: 2, vectorIndex: "hnsw" } as const;
      const store = new OracleStore({ dsn, user: app.user, password: app.password, ...indexed });
      await store.putWithEmbedding(NS, "k", { note: "cats and dogs" }, { embedding: [1, 0], ttlSeconds: 60 });
      await store.put(NS, "k2", { note: "cats" });
      expect(await store.search(NS, { query: "cats", mode: "text" })).toHaveLength(2);
      expect(await store.searchByEmbedding(NS, { query: [1, 0] })).toHaveLength(1);
      expect(await store.delete(NS, "k2")).toBe(true);
      await store.clearNamespace(NS);
      expect(await store.listNamespaces()).toEqual([]);
      await store.close();
      const refused = new OracleStore({ dsn, user: app.user, password: app.password, tableName: `${user}.NO_ITEMS` });
      expect(await failureOf(() => refused.get(NS, "k"))).toMatchObject({
        code: "PERMISSION_DENIED",
        message: expect.stringContaining('of: "store"'),
      });
      await refused.close();
    });

    test("with read access nothing is created: a missing table is NOT_FOUND, and writes are refused", async () => {
      const reading = { dsn, user, password, access: "read", dimension: 2, vectorIndex: "ivf" } as const;
      const absent = new OracleStore({ ...reading, tableName: place.tableName() });
      expect(await failureOf(() => absent.get(NS, "k"))).toMatchObject({ code: "NOT_FOUND" });
      const tableName = place.tableName();
      const writer = open(tableName, { dimension: 2 });
      await writer.putWithEmbedding(NS, "k", 1, [1, 0]);
      const reader = new OracleStore({ ...reading, tableName });
      expect(await reader.searchByEmbedding(NS, { query: [1, 0] })).toHaveLength(1);
      expect(await failureOf(() => reader.put(NS, "k", 2))).toMatchObject({ code: "PERMISSION_DENIED" });
      const indexes = await sql("SELECT indexname FROM pg_indexes WHERE indexname = $1", [
        `${tableName}_by_vector`.toLowerCase(),
      ]);
      expect(indexes).toEqual([]);
      for (const each of [absent, writer, reader]) await each.close();
    });

    test("one pool serves a checkpointer, a saver and a store, and is closed with the last of them", async () => {
      const own = oracleConnection({ dsn, user, password, maxConnections: 2 });
      const tableName = place.tableName();
      const checkpointer = oracleCheckpointer({ connection: own, tableName });
      const saver = new OracleCheckpointSaver({ connection: own, tableName });
      const store = new OracleStore({ connection: own, tableName: `${tableName}_STORE` });
      await saver.put({ threadId: "t", checkpointId: "1", checkpointData: {} });
      await store.put(NS, "k", 1);
      expect(await checkpointer.listThreads()).toEqual([]);
      await checkpointer.close();
      await saver.close();
      expect(await store.get(NS, "k")).toBe(1);
      await store.close();
      expect(await failureOf(() => store.get(NS, "k"))).toMatchObject({ code: "CLOSED" });
    });

    test("a URL opens it, in tables beside those of the same URL's checkpointer", async () => {
      const [host, service] = dsn.split("/");
      const url = `oracle://${user}:${encodeURIComponent(password)}@${host}/${service}?tableName=${place.tableName()}`;
      const store = await openStore(url);
      await store.put(NS, "k", { a: 1 });
      expect(await store.get(NS, "k")).toEqual({ a: 1 });
      await store.close();
    });

    test("the table of a checkpointer is refused, naming both; a wrong password is in no error", async () => {
      const tableName = place.tableName();
      const checkpointer = oracleCheckpointer({ connection, tableName });
      await checkpointer.connect();
      const store = open(tableName);
      expect(await failureOf(() => store.get(NS, "k"))).toMatchObject({
        code: "INCOMPATIBLE",
        message: expect.stringMatching(/OracleStore\(.*the table of threads of oracleCheckpointer\(/),
      });
      await Promise.all([store.close(), checkpointer.close()]);
      const wrong = new OracleStore({ dsn, user, password: "wr0ng/s3cr@t", retry: { attempts: 1 } });
      const failure = await failureOf(() => wrong.get(NS, "k"));
      expect(failure).toMatchObject({ code: "PERMISSION_DENIED" });
      expect(`${String(failure)} ${JSON.stringify(failure)} ${String((failure as Error).cause)}`).not.toContain("s3cr");
      await wrong.close();
    });

    test("options that do not go together are refused", () => {
      expect(() => open("x", { vectorIndex: "hnsw" })).toThrow(/needs the option dimension/);
      expect(() => open("x", { vectorIndex: "flat", dimension: 3 })).toThrow(/"hnsw" or "ivf"/);
      expect(() => open("x", { dimension: 0 })).toThrow(/dimension must be/);
      expect(() => open("x", { tabelName: "y" })).toThrow(/OracleStore\(\).*tabelName/);
      expect(() => oracleDdl({ dimension: 3 })).toThrow(/of a store/);
    });
  },
  { vectors: true },
);
