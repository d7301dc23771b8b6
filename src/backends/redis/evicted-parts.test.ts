import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { clearPrefix, freshPrefix, makeUser } from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { encodeId } from "../../store/driver/namespaces.ts";
import { PersonalData } from "../../wiring/personal-data.ts";
import { InMemoryStore } from "../memory/index.ts";
import { mendRedisStore, redisStore } from "./index.ts";

const NS = ["users", "ada"];
const PARTS = ["items", "ids", "vectors", "vids", "words", "ends", "writes", "written"];

await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());

  async function storeOf() {
    const prefix = freshPrefix();
    const store = redisStore({ url, prefix });
    for (const [index, key] of ["profile", "likes", "past"].entries()) {
      const embedding = [1, index, 0];
      await store.putWithEmbedding(NS, key, { text: `zebra ${key}` }, { embedding, metadata: { subject: "ada" } });
    }
    await store.put(NS, "plain", { text: "okapi" }, { ttlSeconds: 3600 });
    const dispose = async (): Promise<void> => {
      await store.close();
      await clearPrefix(admin, prefix);
    };
    return { store, prefix, dispose, evict: (part: string) => admin.unlink(`${prefix}{store}:${part}`) };
  }

  test.each(PARTS)(
    "of a store whose key %s was evicted every call is CORRUPT and says what to do, and none that nothing is there",
    async (part) => {
      const { store, dispose, evict } = await storeOf();
      expect(await evict(part)).toBe(1);
      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        get: () => store.get(NS, "profile"),
        "get of nothing": () => store.get(NS, "none"),
        list: () => store.list(NS),
        "list of nothing": () => store.list(["nowhere"]),
        namespaces: () => store.listNamespaces(),
        search: () => store.search(NS, "zebra"),
        near: () => store.searchByEmbedding(NS, { query: [1, 0, 0] }),
        vector: () => store.getEmbedding(NS, "profile"),
        put: () => store.put(NS, "profile", 1),
        delete: () => store.delete(NS, "profile"),
        clear: () => store.clearNamespace(NS),
      };
      for (const [name, call] of Object.entries(calls)) {
        const failure = await failureOf(call);
        expect(failure, name).toMatchObject({ code: "CORRUPT" });
        expect(failure.message, name).toContain("mendRedisStore()");
      }
      await dispose();
    },
  );

  test.each(PARTS)("a store whose key %s was evicted is mended, says what is left, and works", async (part) => {
    const { store, prefix, dispose, evict } = await storeOf();
    const { version } = (await store.getItem(NS, "profile")) ?? {};
    await evict(part);
    const { url: userUrl, user } = await makeUser(admin, url, prefix);
    const mended = await mendRedisStore({ url: userUrl, prefix });
    await admin.call("ACL", ["DELUSER", user]);
    const hasItems = part !== "items";
    expect(mended).toEqual({ items: hasItems ? 4 : 0, vectors: hasItems && part !== "vectors" ? 3 : 0 });
    const names = hasItems ? ["likes", "past", "plain", "profile"] : [];
    expect((await store.listKeys(NS)).slice()).toEqual(names);
    const zebras = (await store.search(NS, "zebra")).map(({ key }) => key);
    expect(zebras.toSorted()).toEqual(names.filter((name) => name !== "plain"));
    const near = await store.searchByEmbedding(NS, { query: [1, 0, 0], limit: 1 });
    expect(near.map(({ key }) => key)).toEqual(mended.vectors > 0 ? ["profile"] : []);
    if (hasItems) expect((await store.getItem(NS, "profile"))?.version).toBe(version);
    await store.delete(NS, "profile");
    await store.put(NS, "profile", { text: "anew" });
    const late = await failureOf(() => store.put(NS, "profile", "late", { expectedVersion: version ?? null }));
    expect(late).toMatchObject({ code: "CONFLICT" });
    expect(await store.clearNamespace(NS)).toBe(hasItems ? 4 : 1);
    await dispose();
  });

  test("an erasure of a person in a store whose list was evicted is no verified one", async () => {
    const { store, prefix, dispose, evict } = await storeOf();
    const data = new PersonalData({ stores: [store], ledger: new InMemoryStore(), key: "k".repeat(32) });
    await evict("ids");
    expect(await failureOf(() => data.eraseUser("ada"))).toMatchObject({ code: "CORRUPT" });
    await mendRedisStore({ url, prefix });
    expect(await data.eraseUser("ada")).toMatchObject({ verified: true });
    expect((await store.listKeys(NS)).slice()).toEqual([]);
    await dispose();
  });

  describe("where the counts of the parts agree, an erasure goes by what is stored", () => {
    const id = encodeId({ namespace: NS, key: "profile" });
    const ofNothing = encodeId({ namespace: NS, key: "nothing" });
    const tampers: Readonly<Record<string, (key: (part: string) => string) => Promise<unknown>>> = {
      "an item that no list shows": async (key) => {
        await admin.zrem(key("ids"), id);
        await admin.zadd(key("ids"), 0, ofNothing);
      },
      "a vector that is no item's": async (key) => {
        const named = (await admin.hkeys(key("vectors"))).find((name) => name.startsWith(id)) ?? "";
        const vector = (await admin.hgetBuffer(key("vectors"), named)) ?? Buffer.of();
        await admin.hdel(key("vectors"), named);
        await admin.hset(key("vectors"), `${ofNothing}\u00025`, vector);
      },
      "the word of no item": async (key) => {
        const [word = ""] = await admin.zrange(key("words"), "0", "0");
        await admin.zrem(key("words"), word);
        await admin.zadd(key("words"), 0, `zebra\u0001${ofNothing}\u00021/1`);
      },
    };

    test.each(Object.entries(tampers))(
      "and is not verified beside %s, until the store is mended",
      async (_, tamper) => {
        const { store, prefix, dispose } = await storeOf();
        const key = (part: string): string => `${prefix}{store}:${part}`;
        expect(await admin.zscore(key("ids"), id)).toBe("0");
        await tamper(key);
        const data = new PersonalData({ stores: [store], ledger: new InMemoryStore(), key: "k".repeat(32) });
        expect(await failureOf(() => data.eraseUser("ada"))).toMatchObject({ code: "CORRUPT" });
        await mendRedisStore({ url, prefix });
        expect(await data.eraseUser("ada")).toMatchObject({ verified: true });
        expect((await admin.hkeys(key("items"))).filter((name) => name.startsWith("users"))).toEqual([]);
        expect([await admin.hlen(key("vectors")), await admin.zcard(key("words"))]).toEqual([0, 0]);
        await dispose();
      },
    );

    test("and takes out what has ended, however much of it lies there still", async () => {
      const { store, prefix, dispose } = await storeOf();
      const entries = Array.from({ length: 400 }, (_, at) => ({
        ...{ namespace: NS, key: `ended ${at}`, value: { text: "quagga" } },
        ...{ ttlSeconds: 0.001, metadata: { subject: "ada" } },
      }));
      await store.putBatch(entries);
      expect(await admin.hlen(`${prefix}{store}:items`)).toBeGreaterThan(300);
      const data = new PersonalData({ stores: [store], ledger: new InMemoryStore(), key: "k".repeat(32) });
      expect(await data.eraseUser("ada")).toMatchObject({ verified: true });
      for (const record of await admin.hvals(`${prefix}{store}:items`)) expect(record).not.toContain("quagga");
      await dispose();
    });
  });

  test("a word that is in more items than one step reads ranks them all", async () => {
    const prefix = freshPrefix();
    const store = redisStore({ url, prefix });
    for (let from = 0; from < 10_500; from += 500) {
      await store.putBatch(
        Array.from({ length: 500 }, (_, at) => ({
          namespace: ["n"],
          key: String(from + at).padStart(6, "0"),
          value: { text: `zebra ${"filler ".repeat(3)}` },
        })),
      );
    }
    await store.put(["n"], "999999", { text: "zebra zebra" });
    expect((await store.search(["n"], { query: "zebra", limit: 1 })).map(({ key }) => key)).toEqual(["999999"]);
    await store.close();
    await clearPrefix(admin, prefix);
  });
});
