import assert from "node:assert/strict";
import { failsWith } from "../expect-failure.ts";
import { livesBriefly, passTime } from "../manual-clock.ts";
import { type StoreCase, storeCasesOf } from "./store-case.ts";
import { keysOf } from "./walking.ts";

/** Short, because some storage systems end items by a clock that a test cannot move. */
const SHORT_SECONDS = 0.4;
const PAST_MS = 600;
const NS = ["e"];

export const expiringCases: readonly StoreCase[] = storeCasesOf("expiry", [
  {
    name: "an item past its end is in no answer of any kind",
    needs: ["ttl"],
    run: async (fixture) => {
      const { subject } = fixture;
      await subject.put(NS, "stays", { text: "walrus", n: 1 });
      const { name: key, ttlMs } = await livesBriefly(fixture, SHORT_SECONDS * 1000, async (name, life) => {
        const ttlSeconds = life / 1000;
        const { expiresAt, createdAt } = await subject.put(NS, name, { text: "walrus", n: 1 }, { ttlSeconds });
        assert.equal(expiresAt?.getTime(), createdAt.getTime() + life);
        assert.equal((await subject.getItem(NS, name))?.expiresAt?.getTime(), expiresAt?.getTime());
      });
      if (subject.capabilities.semanticSearch) {
        await subject.putWithEmbedding(NS, "vector", 1, { embedding: [1, 0], ttlSeconds: SHORT_SECONDS });
      }
      await subject.put(["gone"], "ends", 1, { ttlSeconds: SHORT_SECONDS });
      await passTime(fixture, ttlMs + PAST_MS);
      assert.equal(await subject.get(NS, key), undefined);
      assert.equal(await subject.exists(NS, key), false);
      assert.deepEqual(await subject.getBatch([{ namespace: NS, key }]), [undefined]);
      assert.deepEqual(keysOf(await subject.list(NS)), ["stays"]);
      assert.deepEqual(keysOf(await subject.list(NS, { filter: { n: 1 } })), ["stays"]);
      if (subject.capabilities.search) assert.deepEqual(keysOf(await subject.search(NS, "walrus")), ["stays"]);
      if (subject.capabilities.semanticSearch) {
        assert.deepEqual(await subject.searchByEmbedding(NS, { query: [1, 0] }), []);
        assert.equal(await subject.getEmbedding(NS, "vector"), undefined);
      }
      if (subject.capabilities.listNamespaces) assert.deepEqual(await subject.listNamespaces(), [NS]);
      assert.equal(await subject.delete(NS, key), false, "there is nothing to delete");
      assert.equal(await subject.clearNamespace(["gone"]), 0);
    },
  },
  {
    name: "a new item under the name of one that ended is a new one, with another version",
    needs: ["ttl", "compareAndSet"],
    run: async (fixture) => {
      const { subject } = fixture;
      await subject.put(NS, "k", "old", { metadata: { old: 1 } });
      const old = await subject.put(NS, "k", "old", { ttlSeconds: SHORT_SECONDS });
      await passTime(fixture, PAST_MS);
      await failsWith(
        "CONFLICT",
        () => subject.put(NS, "k", "late", { expectedVersion: old.version }),
        "a late writer",
      );
      const made = await subject.put(NS, "k", "new", { expectedVersion: null });
      assert.notEqual(made.version, old.version);
      assert.ok(made.createdAt.getTime() > old.createdAt.getTime(), "made anew");
      await passTime(fixture, PAST_MS);
      assert.equal(await subject.get(NS, "k"), "new", "without an end");
    },
  },
  {
    name: "a put without an end takes the end away, an update leaves it",
    needs: ["ttl", "compareAndSet"],
    run: async (fixture) => {
      const { subject } = fixture;
      await subject.put(NS, "put", 1, { ttlSeconds: SHORT_SECONDS });
      await subject.put(NS, "put", 2);
      const { name: key, ttlMs } = await livesBriefly(fixture, SHORT_SECONDS * 1000, async (name, life) => {
        const { expiresAt } = await subject.put(NS, name, 1, { ttlSeconds: life / 1000 });
        const updated = await subject.update<number>(NS, name, (n = 0) => n + 1);
        assert.equal(updated?.expiresAt?.getTime(), expiresAt?.getTime());
      });
      await passTime(fixture, ttlMs + PAST_MS);
      assert.equal(await subject.get(NS, "put"), 2);
      assert.equal(await subject.get(NS, key), undefined);
      assert.equal((await subject.update<number>(NS, key, (n = 0) => n + 1))?.value, 1, "begins anew");
    },
  },
  {
    name: "an invalid time to live is refused",
    needs: ["ttl"],
    run: async ({ subject }) => {
      for (const ttlSeconds of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12, "5" as unknown as number]) {
        await failsWith("INVALID_ARGUMENT", () => subject.put(NS, "k", 1, { ttlSeconds }), `ttlSeconds ${ttlSeconds}`);
      }
      assert.equal(await subject.exists(NS, "k"), false);
    },
  },
]);
