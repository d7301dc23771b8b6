import { expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import type { ErasureParty } from "../../src/session/erasure-party.ts";
import { CorePersonalData } from "../../src/session/personal-data.ts";
import { faultInReceipts } from "../../src/session/receipts.ts";
import type { AppliedMark } from "../../src/state/people/applied-mark.ts";
import { KEY } from "./people.ts";

/** Keys by person, which is what sealing has. */
function keyring(keys: Map<string, { readonly createdAt: number }>, onErase?: () => void): ErasureParty {
  let applied: AppliedMark | undefined;
  return {
    name: "keys",
    holdsProcess: true,
    unread: () => [],
    held: () => [],
    async *find(forgets) {
      const names = [...keys].filter(([subject, { createdAt }]) => forgets(subject, createdAt));
      yield names.map(([subject]) => ({ kind: "key", where: "a keyring", path: "key", value: subject }));
    },
    async erase(places) {
      onErase?.();
      for (const { value } of places) keys.delete(String(value));
      return places.length;
    },
    scrub: async () => ({ done: ["the keyring was written anew"], remains: [] }),
    mark: async () => applied,
    setMark: async (mark) => {
      applied = mark;
    },
  };
}

const dataWith = (party: ErasureParty, store: InMemoryStore, ledger: InMemoryStore): CorePersonalData =>
  new CorePersonalData({
    key: KEY,
    now: Date.now,
    open: async () => ({ checkpointers: [], stores: [store], others: [party], ledger }),
  });

test("other parties to an erasure come after the backends, are in the receipt, and in no export", async () => {
  const [store, ledger] = [new InMemoryStore(), new InMemoryStore()];
  const keys = new Map([
    ["ann", { createdAt: 1 }],
    ["bob", { createdAt: 1 }],
  ]);
  await store.put(["notes"], "n", "Ann", { metadata: { subject: "ann" } });
  let itemsThen: unknown = "never asked";
  const party = keyring(keys, () => {
    itemsThen = noteIn(store);
  });
  const data = dataWith(party, store, ledger);
  const lines: string[] = [];
  for await (const line of data.exportUser("ann")) lines.push(line);
  expect(lines.slice(1).map((line) => JSON.parse(line).kind)).toEqual(["item"]);
  const receipt = await data.eraseUser("ann");
  expect(await itemsThen).toBeUndefined();
  expect([...keys.keys()]).toEqual(["bob"]);
  expect(receipt.places.map(({ backend, keys: count }) => [backend, count])).toEqual([
    ["store 1", 0],
    ["keys", 1],
  ]);
  expect(receipt.places[1]?.cleaned).toEqual(["the keyring was written anew"]);
  expect(faultInReceipts([receipt], data.publicKey)).toBeUndefined();
});

const noteIn = (store: InMemoryStore): Promise<unknown> => store.get(["notes"], "n");

test("a party that fails leaves no receipt and is finished by resume; one that was restored is asked again", async () => {
  const [store, ledger] = [new InMemoryStore(), new InMemoryStore()];
  const keys = new Map([["ann", { createdAt: 1 }]]);
  let isDown = true;
  const party = keyring(keys, () => {
    if (isDown) throw new Error("the keyring is locked");
  });
  const data = dataWith(party, store, ledger);
  await expect(data.eraseUser("ann")).rejects.toThrow(/no receipt yet.*keys: the keyring is locked/);
  expect(await data.receipts()).toEqual([]);
  isDown = false;
  expect(await data.resume()).toHaveLength(1);
  expect(keys.size).toBe(0);

  const restored = new Map([["ann", { createdAt: 1 }]]);
  await dataWith(keyring(restored), store, ledger).resume();
  expect(restored.size).toBe(0);
});
