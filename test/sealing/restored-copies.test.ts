import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { newOuterKey } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import type { KeyringOptions } from "../../src/sealing/keys/keyring-options.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import type { StoreDriver } from "../../src/store/driver/store-driver.ts";
import type { StoreItem } from "../../src/store/items/items.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import type { Store } from "../../src/store/store.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const about = (subject: string) =>
  AgentState.create().withMessage(userMessage(`words of ${subject}`, { metadata: { subject } }));

const backupOf = (store: InMemoryStore | KeyringOptions["store"]) => store.list([], { recursive: true, limit: 1000 });

/** A store of keys as a backup has it. */
async function restored(items: readonly StoreItem[]): Promise<InMemoryStore> {
  const store = new InMemoryStore();
  for (const { namespace, key, value } of items) await store.put(namespace, key, value);
  return store;
}

/** Data in a log and a store, with a function that opens both with a keyring. */
function dataPlace() {
  const log = new MemoryLog();
  const driver = accessOf(new InMemoryStore())?.driver as StoreDriver;
  const open = (keyring: Keyring): { checkpointer: Checkpointer; store: Store } => {
    const sealing = new Sealing({ keyring });
    const store = new InMemoryStore({ sealing: { overStore: () => sealing.overStore(driver) } });
    return { checkpointer: new Checkpointer(log, { sealing }), store };
  };
  return { log, driver, open };
}

const wordsIn = async (checkpointer: Checkpointer, threadId: string): Promise<unknown> =>
  (await checkpointer.load(threadId))?.messages[0]?.content;

describe("copies of the data and of the keyring from different times", () => {
  test("data from before one rotation, from before two, and from the middle of one opens with today's keyring", async () => {
    const { keyring, options, variable } = await sampleKeyring({ cacheMs: 0 });
    const { open } = dataPlace();
    const { checkpointer, store } = open(keyring);
    const save = async (name: string): Promise<void> => {
      await checkpointer.save(about(name), name);
      await store.put(["notes"], name, name, { metadata: { subject: name } });
    };
    await save("before-two");
    process.env[variable] = `${newOuterKey()},${process.env[variable]}`;
    await keyring.rotate({ graceMs: 0 });
    await save("before-one");
    let middle: Promise<void> | undefined;
    const putting = options.store.put.bind(options.store);
    options.store.put = async (namespace, ...rest) => {
      if (namespace[1] === "people") middle ??= save("in-the-middle");
      return putting(namespace, ...rest);
    };
    await keyring.rotate({ graceMs: 0 });
    await middle;
    options.store.put = putting;
    process.env[variable] = process.env[variable]?.split(",")[0];
    const today = open(await Keyring.open(options));
    for (const name of ["before-two", "before-one", "in-the-middle"]) {
      expect(await wordsIn(today.checkpointer, name)).toBe(`words of ${name}`);
      expect(await today.store.get(["notes"], name)).toBe(name);
    }
  });

  test("with a keyring from before, people added since are named, everyone else's threads load, and a new key of theirs is not taken for the lost one", async () => {
    const { keyring, options } = await sampleKeyring({ cacheMs: 0 });
    const { open } = dataPlace();
    const today = open(keyring);
    await today.checkpointer.save(about("ada"), "ada");
    const items = await backupOf(options.store);
    await keyring.rotate({ graceMs: 0 });
    await today.checkpointer.save(about("bob"), "bob");
    await today.store.put(["notes"], "bob", "of bob", { metadata: { subject: "bob" } });
    const old = open(await Keyring.open({ ...options, store: await restored(items) }));
    expect(await wordsIn(old.checkpointer, "ada")).toBe("words of ada");
    const lost = { code: "PERMISSION_DENIED", context: { keyId: expect.stringContaining(".1.") } };
    await expect(old.checkpointer.load("bob")).rejects.toMatchObject(lost);
    // Bob is given a key there: the first one in this copy.
    await old.checkpointer.save(about("bob"), "bob-again");
    expect(await wordsIn(old.checkpointer, "bob-again")).toBe("words of bob");
    await expect(old.checkpointer.load("bob")).rejects.toMatchObject(lost);
    await expect(old.store.get(["notes"], "bob")).rejects.toMatchObject(lost);
    // The right keyring is brought back: all that it sealed is there, and the rest is named.
    expect(await wordsIn(today.checkpointer, "bob")).toBe("words of bob");
    expect(await today.store.get(["notes"], "bob")).toBe("of bob");
    await expect(today.checkpointer.load("bob-again")).rejects.toMatchObject(lost);
  });

  test("a keyring from before the outermost key was replaced says which key it needs, and writes nothing", async () => {
    const { keyring, options, variable } = await sampleKeyring();
    const { open } = dataPlace();
    await open(keyring).checkpointer.save(about("ada"), "ada");
    const items = await backupOf(options.store);
    process.env[variable] = `${newOuterKey()},${process.env[variable]}`;
    await keyring.rotate({ graceMs: 0 });
    process.env[variable] = process.env[variable]?.split(",")[0];
    const store = await restored(items);
    const before = await backupOf(store);
    await expect(Keyring.open({ ...options, store })).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    await expect(Keyring.create({ ...options, store })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await backupOf(store)).toEqual(before);
  });

  test("a keyring from the middle of a rotation opens everything, and its rotation is finished", async () => {
    const { keyring, options } = await sampleKeyring({ cacheMs: 0 });
    const { open } = dataPlace();
    for (const name of ["ada", "bob", "cem"]) await open(keyring).checkpointer.save(about(name), name);
    const copies: Promise<readonly StoreItem[]>[] = [];
    const putting = options.store.put.bind(options.store);
    options.store.put = async (...given) => {
      copies.push(backupOf(options.store));
      await copies.at(-1);
      return putting(...given);
    };
    await keyring.rotate({ graceMs: 0 });
    expect(copies.length).toBeGreaterThan(4);
    for (const copy of copies) {
      const store = await restored(await copy);
      const opened = await Keyring.open({ ...options, store });
      expect(await opened.rotate({ graceMs: 0 })).toMatchObject({ retired: 0 });
      const { checkpointer } = open(await Keyring.open({ ...options, store }));
      for (const name of ["ada", "bob", "cem"]) expect(await wordsIn(checkpointer, name)).toBe(`words of ${name}`);
    }
  });

  test("beside data of another keyring no key is made and nothing is written, in threads and in items", async () => {
    const { keyring } = await sampleKeyring();
    const { log, driver, open } = dataPlace();
    const mine = open(keyring);
    await mine.checkpointer.save(about("ada"), "ada");
    await mine.store.put(["notes"], "a", 1);
    const { keyring: fresh, options } = await sampleKeyring();
    const lost = { code: "PERMISSION_DENIED", message: expect.stringContaining("Bring back the store of the keys") };
    await expect(open(fresh).checkpointer.save(about("bob"), "new")).rejects.toMatchObject(lost);
    await expect(open(fresh).store.put(["notes"], "b", 1)).rejects.toMatchObject(lost);
    expect(await log.tail("new")).toBeUndefined();
    expect(await driver.read([{ namespace: ["notes"], key: "b" }])).toEqual([undefined]);
    expect(await options.store.list(["holdfast:keys", "tenants"])).toHaveLength(0);
    // Another tenant's first key belongs to that tenant alone.
    const sealing = new Sealing({ keyring: fresh, tenant: (name) => (name === "ada" ? "old" : "new") });
    await new Checkpointer(log, { sealing }).save(about("bob"), "new");
  });

  test("many processes that seal the first record of a storage at once agree on its key", async () => {
    const { options } = await sampleKeyring();
    const { open } = dataPlace();
    const all = await Promise.all(Array.from({ length: 10 }, async () => open(await Keyring.open(options))));
    await Promise.all(all.map(({ checkpointer }, at) => checkpointer.save(about("ada"), `t${at}`)));
    for (const { checkpointer } of all) expect(await wordsIn(checkpointer, "t5")).toBe("words of ada");
  });
});
