import { Redis } from "ioredis";
import { afterAll, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { clearPrefix, freshPrefix, makeUser } from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
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
