import { Redis } from "ioredis";
import { afterAll, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { clearPrefix, freshPrefix } from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { encodeId } from "../../store/driver/namespaces.ts";
import type { Store } from "../../store/store.ts";
import { redisStore } from "./store.ts";

const NS = ["a"];

await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());

  /** A store with three items, of which "bad" has only this many bytes left. */
  async function withDamage(bytes: number, ttlSeconds?: number): Promise<{ prefix: string; store: Store }> {
    const prefix = freshPrefix();
    const store = redisStore({ url, prefix });
    const value = { text: "zebra", n: 1, list: [1] };
    const entry = (key: string) => ({
      namespace: NS,
      key,
      value,
      embedding: [1, 0],
      ...(ttlSeconds && { ttlSeconds }),
    });
    await store.putBatch(["bad", "good", "other"].map(entry));
    const [key, field] = [`${prefix}{store}:items`, encodeId({ namespace: NS, key: "bad" })];
    await admin.hset(key, field, (await admin.hget(key, field))?.slice(0, bytes) ?? "");
    return { prefix, store };
  }

  test.each([0, 5, 60])(
    "an item of which %i bytes are left is named, and no other item fails with it",
    async (bytes) => {
      const { prefix, store } = await withDamage(bytes);
      for (const filter of [undefined, { n: 1 }, { n: { $ne: 2 } }]) {
        const given = filter && { filter };
        for (const page of [await store.list(NS, given), await store.search(NS, { query: "zebra", ...given })]) {
          expect(page.map(({ key }) => key).sort()).toEqual(["good", "other"]);
          expect(page.warnings).toMatchObject([{ code: "CORRUPT", message: expect.stringContaining('"bad"') }]);
        }
        const near = await store.searchByEmbedding(NS, { query: [1, 0], ...given });
        expect(near.map(({ key }) => key).sort()).toEqual(["good", "other"]);
      }
      expect(await failureOf(() => store.get(NS, "bad"))).toMatchObject({ code: "CORRUPT" });
      expect(await store.listNamespaces()).toEqual([NS]);
      await store.close();
      await clearPrefix(admin, prefix);
    },
  );

  test("what is damaged can be replaced, deleted and cleared, and is not taken for absent", async () => {
    const { prefix, store } = await withDamage(0);
    for (const expectedVersion of [null, "1"]) {
      const refused = await failureOf(() => store.put(NS, "bad", 2, { expectedVersion }));
      expect(refused).toMatchObject({ code: "CORRUPT" });
    }
    const { version } = await store.put(NS, "bad", { text: "okapi" });
    expect((await store.getItem(NS, "bad"))?.version).toBe(version);
    await store.close();
    const second = await withDamage(0);
    expect(await second.store.delete(NS, "bad")).toBe(true);
    expect(await second.store.exists(NS, "bad")).toBe(false);
    await second.store.close();
    const third = await withDamage(0);
    expect(await third.store.clearNamespace(NS)).toBe(3);
    await third.store.close();
    for (const each of [prefix, second.prefix, third.prefix]) await clearPrefix(admin, each);
  });

  test("a damaged item that should have ended does not fail the writes of others", async () => {
    const { prefix, store } = await withDamage(0, 0.05);
    await vi.waitUntil(async () => !(await store.exists(NS, "good")), { timeout: 60_000 });
    for (const key of ["x", "y"]) expect(await store.put(NS, key, 1)).toMatchObject({ version: expect.any(String) });
    await store.close();
    await clearPrefix(admin, prefix);
  });
});
