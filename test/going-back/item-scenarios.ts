import { expect } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import type { Store } from "../../src/store/store.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { failureOf } from "../failure-of.ts";
import type { Process, Scenario } from "./world.ts";

const storeOf = ({ store }: Process): Store => {
  if (store === undefined) throw new Error("the scenario must say that it needs a store");
  return store;
};

async function* twoPauses(): AsyncGenerator<void, void, void> {
  yield;
  yield;
}

export const itemScenarios: readonly Scenario[] = [
  {
    name: "a write of an item that expects a lost version is CONFLICT, whatever was written since",
    needs: "store",
    run: async function* (world, t) {
      const live = storeOf(world.live);
      const NS = [t, "versions"];
      const kept = ["there", "deleted", "untouched"];
      for (const key of kept) await live.put(NS, key, "kept");
      yield;
      const lost = new Map<string, string>();
      for (const key of [...kept, "new"]) {
        await live.put(NS, key, "lost");
        lost.set(key, (await live.put(NS, key, "lost too")).version);
      }
      await live.delete(NS, "deleted");
      yield;
      const other = storeOf(await world.other());
      const isUntouched = (key: string): boolean => key === "untouched";
      for (const key of lost.keys()) {
        if (isUntouched(key)) continue;
        await other.put(NS, key, "theirs");
        await other.put(NS, key, "theirs too");
      }
      for (const [key, expectedVersion] of lost) {
        const attempts: readonly (() => Promise<unknown>)[] = [
          () => live.put(NS, key, "late", { expectedVersion }),
          () => live.delete(NS, key, { expectedVersion }),
          () => live.putBatch([{ namespace: NS, key, value: "late", expectedVersion }]),
        ];
        for (const attempt of attempts) expect((await failureOf(attempt)).code).toBe("CONFLICT");
        for (const store of [live, other]) {
          expect(await store.get(NS, key)).toBe(isUntouched(key) ? "kept" : "theirs too");
        }
      }
    },
  },
  {
    name: "an update of an item is made of what is there, once",
    needs: "store",
    run: async function* (world, t) {
      const live = storeOf(world.live);
      const NS = [t, "updates"];
      await live.put(NS, "list", ["kept"]);
      yield;
      await live.update<readonly string[]>(NS, "list", (list = []) => [...list, "lost"], { writeId: "w1" });
      yield;
      const other = storeOf(await world.other());
      await other.update<readonly string[]>(NS, "list", (list = []) => [...list, "theirs"]);
      await live.update<readonly string[]>(NS, "list", (list = []) => [...list, "mine"]);
      // The same write as the lost one: it is not there, so it is made.
      await live.update<readonly string[]>(NS, "list", (list = []) => [...list, "again"], { writeId: "w1" });
      for (const store of [live, other]) {
        expect(await store.get(NS, "list")).toEqual(["kept", "theirs", "mine", "again"]);
      }
    },
  },
  {
    name: "an erasure takes a person's items as they are there, and verifies it",
    needs: "store",
    run: async function* (world, t) {
      const live = storeOf(world.live);
      const NS = [t, "people"];
      const [ann, bob] = [{ metadata: { subject: `ann of ${t}` } }, { metadata: { subject: `bob of ${t}` } }];
      await live.put(NS, "a", "of ann", ann);
      await live.put(NS, "b", "of bob", bob);
      yield;
      await live.put(NS, "a", "of bob, lost", bob);
      await live.put(NS, "b", "of ann, lost", ann);
      await live.list(NS);
      yield;
      const other = storeOf(await world.other());
      await other.put(NS, "c", "more of ann", ann);
      const data = new PersonalData({ stores: [live], ledger: new InMemoryStore(), key: "k".repeat(43) });
      expect((await data.eraseUser(ann.metadata.subject)).verified).toBe(true);
      for (const store of [live, other]) {
        expect((await store.list(NS)).map(({ key, value }) => [key, value])).toEqual([["b", "of bob"]]);
      }
      await data.close();
    },
  },
  {
    name: "a search by meaning compares the vectors that are there",
    needs: "store",
    run: async function* (world, t) {
      const live = storeOf(world.live);
      if (!live.capabilities.semanticSearch) return yield* twoPauses();
      const NS = [t, "vectors"];
      const put = (store: Store, key: string, embedding: readonly number[]) =>
        store.putWithEmbedding(NS, key, key, { embedding: [...embedding] });
      const nearest = async (store: Store) =>
        (await store.searchByEmbedding(NS, { query: [1, 0, 0], limit: 3 })).map(({ key }) => key);
      for (let index = 0; index < 10; index++) await put(live, `k${index}`, [1, 2, 10 + index]);
      expect(await nearest(live)).toEqual(["k0", "k1", "k2"]);
      yield;
      await put(live, "lost", [1, 0, 0]);
      await put(live, "k5", [1, 0.1, 0]);
      await put(live, "k6", [1, 0.2, 0]);
      expect(await nearest(live)).toEqual(["lost", "k5", "k6"]);
      yield;
      const other = storeOf(await world.other());
      await put(other, "k7", [1, 0, 0]);
      await put(other, "theirs", [1, 0.1, 0]);
      await put(other, "k5", [1, 2, 9]);
      for (const store of [live, other]) expect(await nearest(store)).toEqual(["k7", "theirs", "k5"]);
    },
  },
  {
    name: "lists and searches of items find what is there",
    needs: "store",
    run: async function* (world, t) {
      const live = storeOf(world.live);
      const NS = [t, "search"];
      await live.put(NS, "a", { text: "a kept aardvark" });
      yield;
      await live.put(NS, "a", { text: "a lost quagga" });
      await live.put(NS, "b", { text: "another lost quagga" });
      await live.search(NS, { query: "quagga" });
      yield;
      const other = storeOf(await world.other());
      await other.put(NS, "c", { text: "their okapi" });
      const found = async (query: string) => (await live.search(NS, { query })).map(({ key }) => key);
      expect(await found("quagga")).toEqual([]);
      expect(await found("aardvark")).toEqual(["a"]);
      expect(await found("okapi")).toEqual(["c"]);
      expect((await live.list(NS)).map(({ key }) => key).sort()).toEqual(["a", "c"]);
    },
  },
];
