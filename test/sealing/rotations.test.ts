import { describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import type { KeyProvider } from "../../src/sealing/key-provider.ts";
import { Keyring } from "../../src/sealing/keyring.ts";
import type { PutOptions, PutResult } from "../../src/store/items.ts";
import type { Namespace } from "../../src/store/store-driver.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const PEOPLE = ["ada", "bob", "cem"];

/** A store that runs something once before a write that is asked for. */
class InterruptedStore extends InMemoryStore {
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

describe("16.2: rotations by several processes at once", () => {
  test("16.2: one that ends while another has begun leaves the other's master key alone", async () => {
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

  test("16.2: twenty that rotate at once, beside one who makes keys without a pause, lose none", async () => {
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

  test("16.2: a key that is written after its master key was removed is wrapped again, and can be opened", async () => {
    const store = new InterruptedStore();
    const { keyring, options } = await sampleKeyring({ store });
    const other = await Keyring.open(options);
    store.before = { isIt: isPerson, run: () => keyring.rotate({ graceMs: 0 }) };
    const made = await other.personKeys("", ["late"]);
    expect(await (await Keyring.open(options)).personKeys("", ["late"])).toEqual(made);
  });
});

describe("16.2: one damaged key", () => {
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

  test("16.2: keeps no other from being rewrapped, is named, and the old master keys stay until it is mended or destroyed", async () => {
    const { keyring, store, provider, token } = await withDamage();
    await expect(keyring.rotate({ graceMs: 0 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining(`${token}.1`),
    });
    expect(await keyring.destroy(token)).toBe(true);
    expect(await keyring.rotate({ graceMs: 0 })).toMatchObject({ retired: 0 });
    const [ada, , cem] = await (await Keyring.open({ store, provider })).personKeys("", PEOPLE);
    expect([ada?.id.endsWith(".1"), cem?.id.endsWith(".1")]).toEqual([true, true]);
  });

  test("16.2: is named to whoever asks for it, and everybody else's key is found", async () => {
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
