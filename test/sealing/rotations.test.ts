import { describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import type { Page } from "../../src/driver/page.ts";
import type { KeyProvider } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import type { Namespace } from "../../src/store/driver/store-driver.ts";
import type { ListOptions, PutOptions, PutResult, StoreItem } from "../../src/store/items/items.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const PEOPLE = ["ada", "bob", "cem"];

/** A store that runs something once before a write that is asked for, or behind a page of a list. */
class InterruptedStore extends InMemoryStore {
  behindPage: { readonly isIt: (namespace: Namespace) => boolean; readonly run: () => Promise<unknown> } | undefined;

  override async list<Value = unknown>(namespace: Namespace, options?: ListOptions): Promise<Page<StoreItem<Value>>> {
    const page = await super.list<Value>(namespace, options);
    const { behindPage } = this;
    if (behindPage?.isIt(namespace) === true) {
      this.behindPage = undefined;
      await behindPage.run();
    }
    return page;
  }

  before:
    | { readonly isIt: (namespace: Namespace, value: unknown) => boolean; readonly run: () => Promise<unknown> }
    | undefined;

  override async put(namespace: Namespace, key: string, value: unknown, options?: PutOptions): Promise<PutResult> {
    const { before } = this;
    if (before?.isIt(namespace, value) === true) {
      this.before = undefined;
      await before.run();
    }
    return super.put(namespace, key, value, options);
  }
}

const isEndOfRotation = (namespace: Namespace, value: unknown): boolean =>
  namespace[1] === "ring" && (value as { isRotating: boolean }).isRotating === false;
const isPerson = (namespace: Namespace): boolean => namespace[1] === "people";

describe("rotations by several processes at once", () => {
  test("one that ends while another has begun leaves the other's master key alone", async () => {
    const store = new InterruptedStore();
    const { keyring: one, options } = await sampleKeyring({ store });
    const keys = await one.personKeys("", PEOPLE);
    const [two, three] = [await Keyring.open(options), await Keyring.open(options)];
    // Two joins the rotation of one, which ends; three begins another one, and two ends only then.
    store.before = {
      isIt: isEndOfRotation,
      run: async () => {
        await two.rotate({ graceMs: 0 });
        await three.rotate({ graceMs: 0 });
      },
    };
    await one.rotate({ graceMs: 0 });
    const opened = await Keyring.open(options);
    expect(await opened.personKeys("", PEOPLE)).toEqual(keys);
    await opened.rotate({ graceMs: 0 });
    expect(await (await Keyring.open(options)).personKeys("", PEOPLE)).toEqual(keys);
  });

  test("twenty that rotate at once, beside one who makes keys without a pause, lose none", async () => {
    const { options } = await sampleKeyring({ cacheMs: 0 });
    const rings = await Promise.all(Array.from({ length: 20 }, () => Keyring.open(options)));
    const writer = await Keyring.open(options);
    const made = new Map<string, string>();
    let isOver = false;
    const writing = (async () => {
      for (let person = 0; !isOver; person++) {
        const [key] = await writer.personKeys("", [`p${person}`]);
        if (key !== undefined) made.set(`p${person}`, Buffer.from(key.key).toString("hex"));
      }
    })();
    const ended = await Promise.allSettled(rings.map((ring) => ring.rotate({ graceMs: 0 })));
    isOver = true;
    await writing;
    expect(ended.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
    const opened = await Keyring.open(options);
    for (const [person, key] of made) {
      const [found] = await opened.personKeys("", [person]);
      expect(Buffer.from(found?.key ?? []).toString("hex"), person).toBe(key);
    }
  });

  test("a key that is written after its master key was removed is wrapped again, and can be opened", async () => {
    const store = new InterruptedStore();
    const { keyring, options } = await sampleKeyring({ store });
    const other = await Keyring.open(options);
    store.before = { isIt: isPerson, run: () => keyring.rotate({ graceMs: 0 }) };
    const made = await other.personKeys("", ["late"]);
    expect(await (await Keyring.open(options)).personKeys("", ["late"])).toEqual(made);
  });
});

describe("a rotation that removes the master key beside readers", () => {
  test("every person with a key is listed, and a key is destroyed or held by its person's name", async () => {
    const store = new InterruptedStore();
    const { keyring, options } = await sampleKeyring({ store });
    await keyring.personKeys("", PEOPLE);
    // One that has opened no master key but the first.
    const other = await Keyring.open(options);
    await keyring.rotate({ graceMs: 0 });
    store.behindPage = { isIt: isPerson, run: () => keyring.rotate({ graceMs: 0 }) };
    const seen: string[] = [];
    for await (const people of other.people()) seen.push(...people.map(({ subject }) => subject));
    expect(seen.sort()).toEqual(PEOPLE);
    const asked: string[] = [];
    for await (const people of (await Keyring.open(options)).people()) {
      await keyring.rotate({ graceMs: 0 });
      for (const { token } of people) await other.destroy(token, async (subject) => asked.push(subject) > 0);
    }
    expect(asked.sort()).toEqual(PEOPLE);
  });

  test("another rotation that is under way goes on with what was wrapped anew", async () => {
    const store = new InterruptedStore();
    const { keyring, options } = await sampleKeyring({ store });
    const keys = await keyring.personKeys("", PEOPLE);
    const other = await Keyring.open(options);
    await keyring.rotate({ graceMs: 0 });
    store.behindPage = {
      isIt: isPerson,
      run: async () => {
        await keyring.rotate({ graceMs: 0 });
        await keyring.rotate({ graceMs: 0 });
      },
    };
    await other.rotate({ graceMs: 0 });
    expect(await (await Keyring.open(options)).personKeys("", PEOPLE)).toEqual(keys);
  });

  test("a person's key whose master key is really gone is an error for that person alone: it is named, and everyone else's data is found", async () => {
    const store = new InMemoryStore();
    const { keyring, options } = await sampleKeyring({ store });
    const [, bob] = await keyring.personKeys("", PEOPLE);
    const token = bob?.id.split(".")[0] ?? "";
    const old = await store.get(["holdfast:keys", "people"], token);
    await keyring.rotate({ graceMs: 0 });
    await store.put(["holdfast:keys", "people"], token, old);
    const opened = await Keyring.open(options);
    const refusal = { code: "PERMISSION_DENIED", context: { keyId: bob?.id } };
    await expect(opened.personKeys("", ["bob"])).rejects.toMatchObject(refusal);
    const [seen, damaged]: [string[], unknown[]] = [[], []];
    for await (const people of opened.people((error) => damaged.push(error))) {
      seen.push(...people.map(({ subject }) => subject));
    }
    expect([seen.sort(), damaged]).toMatchObject([["ada", "cem"], [refusal]]);
  });
});

describe("one damaged key", () => {
  async function withDamage(): Promise<{
    keyring: Keyring;
    store: InMemoryStore;
    provider: KeyProvider;
    token: string;
  }> {
    const store = new InMemoryStore();
    const { keyring, options } = await sampleKeyring({ store });
    const [, bad] = await keyring.personKeys("", PEOPLE);
    const token = bad?.id.split(".")[0] ?? "";
    const namespace = ["holdfast:keys", "people"];
    const value = await store.get<{ key: { box: string }; name: { box: string } }>(namespace, token);
    const broken = { box: Buffer.alloc(60).toString("base64") };
    await store.put(namespace, token, {
      ...value,
      key: { ...value?.key, ...broken },
      name: { ...value?.name, ...broken },
    });
    return { keyring: await Keyring.open(options), store, provider: options.provider, token };
  }

  test("keeps no other from being rewrapped, is named, and the old master keys stay until it is mended or destroyed", async () => {
    const { keyring, store, provider, token } = await withDamage();
    await expect(keyring.rotate({ graceMs: 0 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining(`${token}.1`),
    });
    expect(await keyring.destroy(token)).toBe(true);
    expect(await keyring.rotate({ graceMs: 0 })).toMatchObject({ retired: 0 });
    const [ada, , cem] = await (await Keyring.open({ store, provider })).personKeys("", PEOPLE);
    expect([ada?.id, cem?.id]).toEqual([expect.stringContaining(".1."), expect.stringContaining(".1.")]);
  });

  test("is named when its key is asked for, and every other key is found", async () => {
    const { keyring, token } = await withDamage();
    await expect(keyring.personKeys("", ["bob"])).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining(`${token}.1`),
    });
    const found: string[] = [];
    const damaged: string[] = [];
    for await (const page of keyring.people((error) => damaged.push(error.message))) {
      found.push(...page.map(({ subject }) => subject));
    }
    expect([found.sort(), damaged.length]).toEqual([["ada", "cem"], 1]);
    await keyring.renewPerson("ada");
  });
});
