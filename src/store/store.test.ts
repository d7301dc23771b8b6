import { describe, expect, test, vi } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { InMemoryStore } from "../backends/memory/store.ts";
import { MemoryStoreDriver } from "../backends/memory/store-driver.ts";
import { openStore } from "../backends/open-store.ts";
import { StateError } from "../errors.ts";
import { BaseStore } from "./base-store.ts";
import { storeCapabilities } from "./driver/capabilities.ts";
import type { Change, StoredItem, WriteOutcome } from "./driver/store-driver.ts";
import { Store } from "./store.ts";

const NS = ["n"];
const soon = { retry: { attempts: 3, baseDelayMs: 1 } };

/** Makes the write and loses the answer, as often as it is told to. */
class LosingDriver extends MemoryStoreDriver {
  #left: number;
  writes = 0;

  constructor(losses: number) {
    super();
    this.#left = losses;
  }

  override async write(changes: readonly Change[]): Promise<WriteOutcome> {
    this.writes++;
    const outcome = await super.write(changes);
    if (this.#left-- > 0) throw new StateError("UNAVAILABLE", "the connection was lost");
    return outcome;
  }
}

describe("a write whose answer was lost", () => {
  test("is repeated, and is made once", async () => {
    const driver = new LosingDriver(2);
    const store = new Store(driver, soon);
    const { version } = await store.put(NS, "k", 1);
    expect(driver.writes).toBe(3);
    expect((await store.getItem(NS, "k"))?.version).toBe(version);
  });

  test("counts once in an update, also where others wrote meanwhile", async () => {
    const driver = new LosingDriver(1);
    const write = driver.write.bind(driver);
    let others = 0;
    driver.write = async (changes) => {
      try {
        return await write(changes);
      } finally {
        // Another writer counts between our write and its repetition.
        if (others++ === 0) await new Store(driver).update<number>(NS, "n", (n = 0) => n + 10);
      }
    };
    const store = new Store(driver, soon);
    await store.update<number>(NS, "n", (n = 0) => n + 1);
    expect(await store.get(NS, "n")).toBe(11);
  });

  test("is of unknown outcome when every answer was lost, and can be repeated by its id", async () => {
    const driver = new LosingDriver(3);
    const store = new Store(driver, soon);
    const failure = await failureOf(() => store.put(NS, "k", 1, { writeId: "w" }));
    expect(failure).toMatchObject({ code: "UNAVAILABLE", context: { written: "unknown" } });
    const made = await store.getItem(NS, "k");
    await store.put(NS, "k", "theirs");
    expect((await store.put(NS, "k", 1, { writeId: "w" })).version).toBe(made?.version);
    expect(await store.get(NS, "k")).toBe("theirs");
  });
});

test("an update gives up beside a writer that never stops, and says so", async () => {
  const driver = new MemoryStoreDriver();
  const store = new Store(driver);
  const busy = new Store(driver);
  const failure = await failureOf(() =>
    store.update<number>(NS, "n", async (n = 0) => {
      await busy.update<number>(NS, "n", (m = 0) => m + 1);
      return n + 1;
    }),
  );
  expect(failure).toMatchObject({ code: "CONFLICT", context: { written: "no" } });
  expect(failure.message).toContain("lost every attempt to other writers");
});

test("an update whose change takes minutes and is overtaken a few times is made", async () => {
  const clock = vi.spyOn(performance, "now");
  const driver = new MemoryStoreDriver();
  const [store, other] = [new Store(driver), new Store(driver)];
  let attempts = 0;
  const updating = store.update<number>(NS, "n", async (n = 0) => {
    attempts++;
    clock.mockReturnValue(attempts * 120_000);
    if (attempts < 5) await other.put(NS, "n", 10 * attempts);
    return n + 1;
  });
  await updating.finally(() => clock.mockRestore());
  expect(await store.get(NS, "n")).toBe(41);
});

test("an item that is damaged is left out of a list and named, and is CORRUPT when it is read", async () => {
  const driver = new MemoryStoreDriver();
  const scan = driver.scan.bind(driver);
  const damaged = (item: StoredItem): StoredItem => (item.key === "bad" ? { ...item, value: '{"a":' } : item);
  driver.scan = async (...given) => (await scan(...given)).map(damaged);
  const read = driver.read.bind(driver);
  driver.read = async (...given) => (await read(...given)).map((item) => item && damaged(item));
  const store = new Store(driver);
  for (const key of ["a", "bad", "z"]) await store.put(NS, key, { a: 1 });
  const page = await store.list(NS);
  expect(page.map(({ key }) => key)).toEqual(["a", "z"]);
  expect(page.warnings[0]).toMatchObject({ code: "CORRUPT", message: expect.stringContaining('["n"] "bad"') });
  expect(await failureOf(() => store.get(NS, "bad"))).toMatchObject({ code: "CORRUPT" });
});

test("clearing ends beside a writer that never stops, and leaves what it puts", async () => {
  let time = 1000;
  const driver = new MemoryStoreDriver({ now: () => time });
  const store = new Store(driver);
  await store.putBatch(Array.from({ length: 500 }, (_, index) => ({ namespace: NS, key: `${index}`, value: 1 })));
  const clear = driver.clear.bind(driver);
  driver.clear = async (...given) => {
    time++;
    await store.putBatch(Array.from({ length: 500 }, (_, index) => ({ namespace: NS, key: `new ${index}`, value: 1 })));
    return clear(...given);
  };
  expect(await store.clearNamespace(NS)).toBe(500);
  expect((await store.list(NS, { limit: 1000 })).length).toBe(500);
});

describe("openStore", () => {
  test("opens the store that a URL names", async () => {
    const store = await openStore("memory:");
    expect(store).toBeInstanceOf(InMemoryStore);
    await store.close();
  });

  test.each([
    ["opensearch://localhost:9200/x", "UNSUPPORTED"],
    ["dynamodb://table/x", "UNSUPPORTED"],
    ["mongodb://user:secret@host", "INVALID_ARGUMENT"],
    ["no URL", "INVALID_ARGUMENT"],
  ])("%s is %s, and the URL is not shown", async (url, code) => {
    const failure = await failureOf(() => openStore(url));
    expect(failure).toMatchObject({ code });
    expect(failure.message).toContain("sqlite:./agents.db");
    expect(failure.message).not.toContain("secret");
  });
});

test("a misspelt option of a factory is refused", () => {
  expect(() => new InMemoryStore({ dimensions: 3 } as never)).toThrow(/did you mean "dimension"/);
  expect(() => new InMemoryStore({ stateSchema: {} } as never)).toThrow(/no option "stateSchema"/);
  expect(() => new InMemoryStore({ dimension: 0 })).toThrow(/whole number/);
  expect(() => new InMemoryStore({ index: ["a..b"] })).toThrow(/no path/);
});

/** The easy door: four methods on whatever there is. */
class MapStore extends BaseStore {
  readonly #inner = new InMemoryStore();
  override get capabilities() {
    return storeCapabilities({ durability: "memory" });
  }
  override put(...given: Parameters<BaseStore["put"]>) {
    return this.#inner.put(...given);
  }
  override getItem<Value>(...given: Parameters<BaseStore["getItem"]>) {
    return this.#inner.getItem<Value>(...given);
  }
  override delete(...given: Parameters<BaseStore["delete"]>) {
    return this.#inner.delete(...given);
  }
  override list<Value>(...given: Parameters<BaseStore["list"]>) {
    return this.#inner.list<Value>(...given);
  }
}

test("a store with the user's own driver has the remaining methods, and refuses by the flag's name what the driver did not advertise", async () => {
  const store = new MapStore();
  await store.putBatch([
    { namespace: NS, key: "a", value: 1 },
    { namespace: NS, key: "b", value: 2 },
  ]);
  expect(await store.getBatch([{ namespace: NS, key: "b" }])).toEqual([2]);
  expect(await store.listKeys(NS)).toEqual(["a", "b"]);
  expect(await store.scoped("n").get("a")).toBe(1);
  expect(await store.clearNamespace(NS)).toBe(2);
  const refusals = {
    search: () => store.search(NS, "a"),
    semanticSearch: () => store.searchByEmbedding(NS, { query: [1] }),
    listNamespaces: () => store.listNamespaces(),
    compareAndSet: () => store.update(NS, "a", () => 1),
  };
  for (const [capability, call] of Object.entries(refusals)) {
    expect(await failureOf(call)).toMatchObject({ code: "UNSUPPORTED", context: { capability } });
  }
  expect([BaseStore.is(store), BaseStore.is({})]).toEqual([true, false]);
});

test.each<[unknown, string]>([
  [undefined, "not undefined"],
  [{}, "not an object"],
  [[null], "its entry 0 is null"],
  [[{ namespace: NS, key: "k", value: 1 }, "k"], "its entry 1 is a string"],
])("a batch that is %j is refused with what to pass, and nothing is written", async (batch, why) => {
  const store = new InMemoryStore();
  await expect(store.putBatch(batch as never)).rejects.toThrow(why);
  await expect(store.getBatch(batch as never)).rejects.toThrow(why);
  expect(await store.exists(NS, "k")).toBe(false);
});

test("an update inside an update of the same item ends, and so do the updates queued after it", async () => {
  const store = new InMemoryStore();
  let isInside = false;
  const outer = store.update<number>(["counts"], "n", async (n = 0) => {
    if (!isInside) {
      isInside = true;
      await store.update<number>(["counts"], "n", (inner = 0) => inner + 10);
    }
    return n + 1;
  });
  const behind = store.update<number>(["counts"], "n", (n = 0) => n + 100);
  await Promise.all([outer, behind]);
  expect(await store.get(["counts"], "n")).toBe(111);
});

test("a page of namespaces that ends among many that do not fit leaves out nothing behind them", async () => {
  const store = new InMemoryStore();
  const entry = (...namespace: string[]) => ({ namespace, key: "k", value: 1 });
  await store.put(["a", "end"], "k", 1);
  // As many as are read at once, all below what the next page has to show.
  const between = Array.from({ length: 600 }, (_, index) => entry("b", `${index}`));
  await store.putBatch(between.slice(0, 300));
  await store.putBatch(between.slice(300));
  await store.put(["b", "end"], "k", 1);
  const options = { suffix: ["end"], maxDepth: 1, limit: 1 };
  const first = await store.listNamespaces(options);
  const second = await store.listNamespaces({
    ...options,
    ...(first.cursor !== undefined && { cursor: first.cursor }),
  });
  expect([...first, ...second]).toEqual([["a"], ["b"]]);
  expect(second.cursor).toBeUndefined();
});
