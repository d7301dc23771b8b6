import { expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import type { Namespace } from "../../src/store/driver/store-driver.ts";
import type { ListOptions, PutEntry } from "../../src/store/items/items.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY } from "./people.ts";

const ask = { by: "counsel@example.com", reason: "case 17" };
const FACTS = ["facts"];

/**
 * Notes the pages of facts that are read, and calls another process's step with each.
 */
class WatchedStore extends InMemoryStore {
  pages = 0;
  beforePage: () => Promise<unknown> = async () => undefined;

  override async list<Value>(namespace: Namespace, options?: ListOptions) {
    if (namespace[0] === FACTS[0]) {
      this.pages++;
      await this.beforePage();
    }
    return super.list<Value>(namespace, options);
  }
}

async function filled(count: number): Promise<{ store: WatchedStore; data: PersonalData }> {
  const store = new WatchedStore();
  const data = new PersonalData({ stores: [store], ledger: new InMemoryStore(), key: KEY });
  const entries = Array.from({ length: count }, (_, at): PutEntry => ({ namespace: FACTS, key: `${at}`, value: at }));
  for (let at = 0; at < count; at += 500) await store.putBatch(entries.slice(at, at + 500));
  return { store, data };
}

test("clearing a namespace beside a hold on another person looks at each item once, however many there are", async () => {
  const { store, data } = await filled(3000);
  await data.placeHold({ subject: "ann", ...ask });
  expect(await store.clearNamespace(FACTS)).toBe(3000);
  expect(store.pages).toBeLessThanOrEqual(3000 / 500 + 1);
});

test("a hold that is placed between two parts of the clearing stops it", async () => {
  const { store, data } = await filled(1000);
  await data.placeHold({ subject: "bob", ...ask });
  await store.put(FACTS, "zz", "about ann", { metadata: { subject: "ann" } });
  const clear = store.clearNamespace(FACTS);
  store.beforePage = async () => {
    if (store.pages === 3) await data.placeHold({ subject: "ann", ...ask });
  };
  await expect(clear).rejects.toMatchObject({ code: "HELD" });
  expect(await store.exists(FACTS, "zz")).toBe(true);
});
