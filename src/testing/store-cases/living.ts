import assert from "node:assert/strict";
import type { BaseStore } from "../../store/base-store.ts";
import { StoreContext } from "../../store/store-context.ts";
import { another } from "../conformance-case.ts";
import { failsWith, failureOf } from "../expect-failure.ts";
import { type StoreCase, storeCasesOf } from "./store-case.ts";
import { keysOf } from "./walking.ts";

const NS = ["a"];

/** Every call that reads or writes, on a store with an item `k`. */
const callsOf = (store: BaseStore): Readonly<Record<string, () => Promise<unknown>>> => ({
  put: () => store.put(NS, "k", 2),
  get: () => store.get(NS, "k"),
  getItem: () => store.getItem(NS, "none"),
  exists: () => store.exists(NS, "none"),
  list: () => store.list(NS),
  listKeys: () => store.listKeys(["nowhere"]),
  putBatch: () => store.putBatch([{ namespace: NS, key: "k", value: 1 }]),
  getBatch: () => store.getBatch([{ namespace: NS, key: "none" }]),
  clearNamespace: () => store.clearNamespace(["nowhere"]),
  delete: () => store.delete(NS, "none"),
  ...(store.capabilities.compareAndSet && { update: () => store.update(NS, "k", () => 1) }),
  ...(store.capabilities.listNamespaces && { listNamespaces: () => store.listNamespaces() }),
  ...(store.capabilities.search && { search: () => store.search(NS, "nothing") }),
  ...(store.capabilities.semanticSearch && {
    putWithEmbedding: () => store.putWithEmbedding(NS, "v", 1, [1, 0]),
    searchByEmbedding: () => store.searchByEmbedding(NS, { query: [1, 0] }),
    getEmbedding: () => store.getEmbedding(NS, "k"),
  }),
});

export const livingCases: readonly StoreCase[] = storeCasesOf("instances", [
  {
    name: "what one instance wrote another sees at once",
    needs: ["reopen"],
    run: async (fixture) => {
      const other = await another(fixture);
      assert.equal(await other.get(NS, "k"), undefined);
      await fixture.subject.put(NS, "k", { text: "walrus" });
      assert.deepEqual(await other.get(NS, "k"), { text: "walrus" });
      if (other.capabilities.search) assert.deepEqual(keysOf(await other.search(NS, "walrus")), ["k"]);
      await other.delete(NS, "k");
      assert.equal(await fixture.subject.exists(NS, "k"), false);
      if (other.capabilities.search) assert.deepEqual(await fixture.subject.search(NS, "walrus"), []);
    },
  },
  {
    name: "everything is there after closing and opening again",
    needs: ["reopen", "durable"],
    run: async (fixture) => {
      const { subject } = fixture;
      await subject.put(NS, "k", { text: "walrus", at: new Date(5) }, { metadata: { m: [1] } });
      const { semanticSearch, search } = subject.capabilities;
      if (semanticSearch) await subject.putWithEmbedding(NS, "v", 1, [0.5, 1]);
      const written = await subject.put(NS, "w", 1, { writeId: "w" });
      const before = await subject.getItem(NS, "k");
      await subject.close();
      const store = await another(fixture);
      assert.deepEqual(await store.getItem(NS, "k"), before);
      if (semanticSearch) assert.deepEqual(await store.getEmbedding(NS, "v"), [0.5, 1]);
      if (search) assert.deepEqual(keysOf(await store.search(NS, "walrus")), ["k"]);
      assert.deepEqual(await store.put(NS, "w", 1, { writeId: "w" }), written, "a write is still recognised");
    },
  },
  {
    name: "after closing every call is refused, and none answers that nothing is there",
    run: async ({ subject }) => {
      await subject.put(NS, "k", 1);
      await subject.close();
      for (const [name, call] of Object.entries(callsOf(subject)))
        await failsWith("CLOSED", call, `${name} after close`);
      await subject.close();
    },
  },
  {
    name: "while the storage fails every call fails, and none answers that nothing is there",
    needs: ["outage"],
    run: async ({ subject, outage }) => {
      await subject.put(NS, "k", 1);
      const restore = await outage?.();
      try {
        const calls = Object.entries(callsOf(subject));
        // At once, because each may be repeated for some seconds before it is given up.
        await Promise.all(calls.map(([name, call]) => failureOf(call, `${name} in an outage`)));
      } finally {
        await restore?.();
      }
      assert.equal(await subject.get(NS, "k"), 1);
    },
  },
  {
    name: "options that do not exist are refused by every method",
    run: async ({ subject }) => {
      const typo = { ttlSecond: 5 } as object;
      const calls: Readonly<Record<string, () => unknown>> = {
        put: () => subject.put(NS, "k", 1, typo),
        "put with a number": () => subject.put(NS, "k", 1, 60 as unknown as object),
        delete: () => subject.delete(NS, "k", typo),
        list: () => subject.list(NS, typo),
        search: () => subject.search(NS, typo),
        clearNamespace: () => subject.clearNamespace(NS, { recursiv: true } as object),
        "clearNamespace with a text": () => subject.clearNamespace(NS, { recursive: "no" } as unknown as object),
        listNamespaces: () => subject.listNamespaces(typo),
        update: () => subject.update(NS, "k", () => 1, typo),
        searchByEmbedding: () => subject.searchByEmbedding(NS, { query: [1], ...typo }),
        putWithEmbedding: () => subject.putWithEmbedding(NS, "k", 1, { embedding: [1], ...typo }),
        expectedVersion: () => subject.put(NS, "k", 1, { expectedVersion: 0 as unknown as null }),
        "expectedVersion with blanks": () => subject.put(NS, "k", 1, { expectedVersion: "a b" }),
        writeId: () => subject.put(NS, "k", 1, { writeId: "" }),
        index: () => subject.put(NS, "k", 1, { index: "text" as unknown as false }),
        "index path": () => subject.put(NS, "k", 1, { index: ["a..b"] }),
        metadata: () => subject.put(NS, "k", 1, { metadata: [1] as unknown as Record<string, unknown> }),
      };
      for (const [what, call] of Object.entries(calls)) await failsWith("INVALID_ARGUMENT", call, what);
      assert.equal(await subject.exists(NS, "k"), false);
    },
  },
  {
    name: "a context works for one user, and refuses to for none",
    needs: ["search"],
    run: async ({ subject }) => {
      const context = new StoreContext(subject, { userId: "u1" });
      const other = new StoreContext(subject, { userId: "u10" });
      await context.remember("pet", { text: "likes cats" });
      await other.remember("pet", { text: "likes dogs and cats" });
      assert.deepEqual(await context.recall("pet"), { text: "likes cats" });
      assert.deepEqual(
        (await context.searchMemories("cats")).map(({ value }) => value),
        [{ text: "likes cats" }],
      );
      await context.forUser().put("profile", { name: "A" });
      await context.setGlobal("motd", "hello");
      assert.equal(await other.getGlobal("motd"), "hello");
      assert.equal(await context.forget("pet"), true);
      assert.equal(await context.forget("pet"), false);
      assert.deepEqual(await other.recall("pet"), { text: "likes dogs and cats" });
      const ownerless = new StoreContext(subject);
      await failsWith("INVALID_ARGUMENT", () => ownerless.remember("pet", 1), "remembering without an owner");
      await failsWith("INVALID_ARGUMENT", () => ownerless.searchMemories("cats"), "searching without an owner");
      await failsWith("INVALID_ARGUMENT", async () => ownerless.forSession(), "no session");
    },
  },
]);
