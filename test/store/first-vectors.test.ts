import { expect, test } from "vitest";
import { MemoryStoreDriver } from "../../src/backends/memory/store-driver.ts";
import { Store } from "../../src/store/store.ts";

/** Two instances that ask for the length of the vectors at the same moment, and both find none. */
function twoThatMeet(): { driver: MemoryStoreDriver; stores: readonly [Store, Store] } {
  let waiting: (() => void)[] = [];
  class Meeting extends MemoryStoreDriver {
    #meetings = 0;
    override async dimension(below: readonly string[]) {
      const found = await super.dimension(below);
      if (this.#meetings++ < 2) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          if (waiting.length < 2) return;
          for (const go of waiting) go();
          waiting = [];
        });
      }
      return found;
    }
  }
  const driver = new Meeting();
  return { driver, stores: [new Store(driver), new Store(driver)] };
}

test("of two instances whose first vectors have different lengths, one is refused, and every vector is found", async () => {
  const { stores } = twoThatMeet();
  const [a, b] = stores;
  const outcomes = await Promise.allSettled([
    a.putWithEmbedding(["n"], "a", {}, [1, 0, 0]),
    b.putWithEmbedding(["n"], "b", {}, [1, 0, 0, 0]),
  ]);
  const refused = outcomes.filter((outcome) => outcome.status === "rejected");
  expect(refused).toMatchObject([{ reason: { code: "INVALID_ARGUMENT" } }]);
  expect(await a.list(["n"])).toHaveLength(1);
  const other = outcomes[0].status === "rejected" ? b : a;
  expect(await other.list([], { recursive: true })).toHaveLength(1);
});

test("instances whose first vectors have one length put them at the same time, and leave nothing else behind", async () => {
  const { stores } = twoThatMeet();
  const puts = stores.flatMap((store, of) =>
    Array.from({ length: 15 }, (_, at) => store.putWithEmbedding(["n"], `${of}-${at}`, {}, [1, at, of])),
  );
  await Promise.all(puts);
  const [store] = stores;
  expect(await store.searchByEmbedding(["n"], { query: [1, 0, 0], limit: 100 })).toHaveLength(30);
  const left = (await store.list([], { recursive: true })).filter(({ namespace }) => namespace[0] !== "n");
  expect(left).toEqual([]);
});

test("a claim that a dead process left behind does not block the first vectors", async () => {
  const driver = new MemoryStoreDriver();
  const store = new Store(driver);
  await store.put(["holdfast:vectors"], "first", {});
  await store.putWithEmbedding(["n"], "a", {}, [1, 0]);
  expect(await store.searchByEmbedding(["n"], { query: [1, 0] })).toHaveLength(1);
});
