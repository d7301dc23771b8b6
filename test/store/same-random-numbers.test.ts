import { expect, test, vi } from "vitest";
import { MemoryStoreDriver } from "../../src/backends/memory/store-driver.ts";
import { Store } from "../../src/store/store.ts";

const random = vi.hoisted(() => ({ next: 0 }));
vi.mock("../../src/driver/ids.ts", async (original) => ({
  ...(await original<object>()),
  newId: () => `id-${random.next++}`,
}));

const NS = ["accounts"];

/** Runs `work` of two processes that go on with the same random numbers, as two copies of one virtual machine do. */
async function twice<T>(works: readonly (() => Promise<T>)[]): Promise<readonly PromiseSettledResult<T>[]> {
  const from = random.next;
  const results: PromiseSettledResult<T>[] = [];
  for (const work of works) {
    random.next = from;
    results.push(...(await Promise.allSettled([work()])));
  }
  return results;
}

test("of two processes with the same random numbers, each loses no write to the other: it is made, or it is CONFLICT", async () => {
  const driver = new MemoryStoreDriver();
  const [one, other] = [new Store(driver), new Store(driver)];
  await one.put(NS, "a", 0);
  const puts = await twice([() => one.put(NS, "a", "one"), () => other.put(NS, "a", "other")]);
  expect(puts).toMatchObject([{ status: "fulfilled" }, { status: "rejected", reason: { code: "CONFLICT" } }]);
  expect(await one.get(NS, "a")).toBe("one");
  await other.put(NS, "a", "other");
  expect(await one.get(NS, "a")).toBe("other");
});

test("their updates of one item are both made", async () => {
  const driver = new MemoryStoreDriver();
  const [one, other] = [new Store(driver), new Store(driver)];
  const added = (store: Store, name: string) => () =>
    store.update<readonly string[]>(NS, "list", (list = []) => [...list, name]);
  expect(await twice([added(one, "one"), added(other, "other")])).toMatchObject([
    { status: "fulfilled", value: { value: ["one"] } },
    { status: "fulfilled", value: { value: ["one", "other"] } },
  ]);
});

test("what a process was told under its random numbers is never another one's item", async () => {
  const driver = new MemoryStoreDriver();
  const [one, other] = [new Store(driver), new Store(driver)];
  const versions = await twice([() => one.put(NS, "x", 1), () => other.put(NS, "y", 1)]);
  const [x, y] = versions.map((each) => (each.status === "fulfilled" ? each.value.version : undefined));
  expect(x).not.toBe(y);
});
