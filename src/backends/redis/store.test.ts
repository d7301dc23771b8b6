import { Redis } from "ioredis";
import { afterAll, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import {
  clearPrefix,
  copyKeys,
  endClient,
  freshPrefix,
  IOREDIS,
  makeUser,
  NODE_REDIS,
} from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Store } from "../../store/store.ts";
import { testStore } from "../../testing/test-store.ts";
import { redisStore } from "./store.ts";

await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());

  test("a missing permission is noticed before anything is written", async () => {
    const prefix = freshPrefix();
    const { user, url: userUrl } = await makeUser(admin, url, prefix);
    await admin.call("ACL", ["SETUSER", user, "-zrem"]);
    const store = redisStore({ url: userUrl, prefix });
    expect(await failureOf(() => store.put(["a"], "k", 1))).toMatchObject({ code: "PERMISSION_DENIED" });
    expect(await store.exists(["a"], "k")).toBe(false);
    expect(await admin.keys(`${prefix}*`)).toEqual([]);
    await store.close();
    await admin.call("ACL", ["DELUSER", user]);
  });

  test("what was deleted, replaced or expired leaves nothing behind, words and vectors included", async () => {
    const prefix = freshPrefix();
    const store = redisStore({ url, prefix });
    await store.putWithEmbedding(["a"], "k", { text: "one zebra" }, [1, 0]);
    await store.put(["a"], "k", { text: "one okapi" }, { ttlSeconds: 0.05 });
    await store.putWithEmbedding(
      ["a"],
      "deleted",
      { text: "tapir" },
      { embedding: [1, 0], metadata: { tag: "dugong" } },
    );
    await store.delete(["a"], "deleted");
    await vi.waitUntil(async () => (await store.get(["a"], "k")) === undefined, { timeout: 60_000 });
    await store.put(["a"], "last", 1, { index: false });
    await store.delete(["a"], "last");
    await store.close();
    const left = (await admin.keys(`${prefix}*`)).map((key) => key.slice(prefix.length)).sort();
    expect(left).toEqual(["{store}:items", "{store}:writes", "{store}:written"]);
    await clearPrefix(admin, prefix);
  });

  test("a word that more than 10,000 items have finds the best of all of them", async () => {
    const prefix = freshPrefix();
    const store = redisStore({ url, prefix });
    for (let from = 0; from < 10_500; from += 500) {
      const keys = Array.from({ length: 500 }, (_, index) => `k${String(from + index).padStart(5, "0")}`);
      await store.putBatch(keys.map((key) => ({ namespace: ["a"], key, value: "walrus among others" })));
    }
    await store.put(["a"], "z", "walrus");
    expect((await store.search(["a"], { query: "walrus", limit: 1 })).map(({ key }) => key)).toEqual(["z"]);
    await store.close();
    await clearPrefix(admin, prefix);
  });

  for (const { name, make } of [IOREDIS, NODE_REDIS]) {
    testStore({
      name: `redis with ${name}`,
      test,
      afterAll,
      // As a user with only the permissions that docs/redis.md lists.
      create: async () => {
        const prefix = freshPrefix();
        const { user, url: userUrl } = await makeUser(admin, url, prefix);
        const client = make(userUrl);
        const outage = async () => {
          await admin.call("ACL", ["SETUSER", user, "-evalsha", "-eval"]);
          return async () => void (await admin.call("ACL", ["SETUSER", user, "+evalsha", "+eval"]));
        };
        const cleanup = async () => {
          await clearPrefix(admin, prefix);
          await endClient(client);
          await admin.call("ACL", ["DELUSER", user]);
        };
        const open = (): Store => redisStore({ client, prefix });
        return { subject: open(), reopen: async () => open(), outage, cleanup, copy: () => copyKeys(admin, prefix) };
      },
    });
  }
});
