import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { MemoryStoreDriver } from "../../src/backends/memory/store-driver.ts";
import { postgresqlStore } from "../../src/backends/postgres/index.ts";
import { sqliteStore } from "../../src/backends/sqlite/index.ts";
import { StateError } from "../../src/errors.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { attributed } from "../../src/state/people/subjects.ts";
import type { BaseStore } from "../../src/store/base-store.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import { Store } from "../../src/store/store.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { sampleKeyring } from "../sealing/sample-keyring.ts";
import { describeWithService } from "../services/with-service.ts";
import { KEY } from "./people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-racing-items-"));
afterAll(() => rm(folder, { recursive: true }));

const ask = { by: "counsel@example.com", reason: "case 17" };
const NAMESPACE = ["facts"];

const dataOn = (store: BaseStore): PersonalData =>
  new PersonalData({ stores: [store], ledger: new InMemoryStore(), key: KEY });

/** Two items that are about Ann, one with a part about her, one about no person. */
async function fill(store: BaseStore): Promise<void> {
  const ofAnn = { metadata: { subject: "ann", category: "ephemeral" } };
  await store.put(NAMESPACE, "of ann", { likes: "tea" }, ofAnn);
  await store.put(NAMESPACE, "of ann, too", { likes: "rum" }, ofAnn);
  await store.put(NAMESPACE, "in part", { who: attributed("ann", "Ann"), open: true });
  await store.put(NAMESPACE, "plain", { open: false });
}

const everything = async (store: BaseStore): Promise<readonly unknown[]> =>
  (await store.list(NAMESPACE)).map(({ key, value, metadata, version }) => ({ key, value, metadata, version }));

/** Lets `work` decide, and stops it right before the first item that it takes away. Only then the hold is placed. */
async function holdingBeforeRemoval(
  worker: BaseStore,
  work: () => Promise<unknown>,
  placeHold: () => Promise<unknown>,
): Promise<{ readonly removals: number; readonly outcome: unknown }> {
  const driver = accessOf(worker)?.driver;
  if (driver === undefined) throw new Error("it has no driver");
  const write = driver.write.bind(driver);
  let removals = 0;
  let placed: Promise<unknown> | undefined;
  driver.write = async (changes) => {
    if (changes.some(({ namespace }) => namespace[0] === NAMESPACE[0])) {
      removals++;
      placed ??= placeHold();
      await placed;
    }
    return write(changes);
  };
  const outcome = await work().catch((error: unknown) => error);
  return { removals, outcome };
}

/** The one suite for every backend. `open` is what another process would open on the same storage. */
function racingItemHolds(create: () => Promise<{ readonly open: () => Promise<BaseStore> }>): void {
  const works: readonly (readonly [string, (store: BaseStore) => Promise<unknown>])[] = [
    ["a deletion", (store) => store.delete(NAMESPACE, "of ann")],
    [
      "a deletion of one version",
      async (store) => {
        const item = await store.getItem(NAMESPACE, "of ann");
        await store.delete(NAMESPACE, "of ann", { expectedVersion: item?.version ?? null });
      },
    ],
    ["retention", (store) => dataOn(store).applyRetention({ rules: [{ category: "ephemeral", keepLast: 1 }] })],
    ["an erasure", (store) => dataOn(store).eraseUser("ann")],
  ];
  for (const [what, work] of works) {
    test(`no item goes by ${what} that decided before a hold was placed and had not begun to take it away`, async () => {
      const { open } = await create();
      const [worker, other] = [await open(), await open()];
      await fill(other);
      const before = await everything(other);
      const placeHold = (): Promise<unknown> => dataOn(other).placeHold({ subject: "ann", ...ask });
      const { removals, outcome } = await holdingBeforeRemoval(worker, () => work(worker), placeHold);
      expect(removals, "it came to the point where it takes something away").toBeGreaterThan(0);
      expect(await everything(other)).toEqual(before);
      if (what === "retention") expect(outcome).toMatchObject({ held: [{ reason: "case 17", count: 1 }] });
      else expect(StateError.is(outcome, "HELD"), String(outcome)).toBe(true);
      for (const each of [worker, other]) await each.close();
    });
  }

  test("a hold on another person that is placed meanwhile keeps nothing of the person, and what is about no person goes", async () => {
    const { open } = await create();
    const [worker, other] = [await open(), await open()];
    await fill(other);
    const placeHold = (): Promise<unknown> => dataOn(other).placeHold({ subject: "bob", ...ask });
    const { outcome } = await holdingBeforeRemoval(worker, () => worker.delete(NAMESPACE, "of ann"), placeHold);
    expect(outcome).toBe(true);
    expect(await worker.delete(NAMESPACE, "plain")).toBe(true);
    expect(await worker.delete(NAMESPACE, "plain")).toBe(false);
    expect((await other.list(NAMESPACE)).map(({ key }) => key)).toEqual(["in part", "of ann, too"]);
    expect(await dataOn(other).holds()).toMatchObject([{ subject: "bob" }]);
    for (const each of [worker, other]) await each.close();
  });

  test("an item that becomes one about a held person while it is deleted stays", async () => {
    const { open } = await create();
    const [worker, other] = [await open(), await open()];
    await fill(other);
    await dataOn(other).placeHold({ subject: "ann", ...ask });
    const change = (): Promise<unknown> =>
      other.put(NAMESPACE, "plain", { likes: "rum" }, { metadata: { subject: "ann" } });
    const { outcome } = await holdingBeforeRemoval(worker, () => worker.delete(NAMESPACE, "plain"), change);
    expect(StateError.is(outcome, "HELD"), String(outcome)).toBe(true);
    expect(await other.get(NAMESPACE, "plain")).toEqual({ likes: "rum" });
    for (const each of [worker, other]) await each.close();
  });
}

describe("memory", () =>
  racingItemHolds(async () => {
    const driver = new MemoryStoreDriver();
    return { open: async () => new Store(layerOver(driver)) };
  }));

describe("memory, sealed", () =>
  racingItemHolds(async () => {
    const [driver, { keyring }] = [new MemoryStoreDriver(), await sampleKeyring()];
    return { open: async () => new Store(layerOver(driver), { sealing: new Sealing({ keyring }) }) };
  }));

/** One connection of several to the same items: what is changed of it is its own. */
const layerOver = (driver: MemoryStoreDriver): MemoryStoreDriver =>
  new Proxy({} as MemoryStoreDriver, {
    get: (own, name) => {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(driver, name);
      return typeof value === "function" ? value.bind(driver) : value;
    },
  });

describe("sqlite", () =>
  racingItemHolds(async () => {
    const path = join(await mkdtemp(join(folder, "sqlite-")), "items.db");
    return { open: async () => sqliteStore({ path }) };
  }));

let places = 0;

await describeWithService("postgres", (dsn) => {
  racingItemHolds(async () => {
    const schema = `racing_items_${process.pid}_${Date.now()}_${places++}`;
    return { open: async () => postgresqlStore({ dsn, schema }) };
  });
});
