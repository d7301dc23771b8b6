import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { createKeyFile, fileKeys, type KeyProvider, newOuterKey } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-providers-"));
afterAll(() => rm(folder, { recursive: true }));

/** Wrong answers of a provider, and the error for each. As plain JavaScript may give them. */
const WRONG: readonly (readonly [string, Record<string, unknown>, string])[] = [
  ["wraps to nothing", { wrap: async () => undefined }, "INVALID_ARGUMENT"],
  ["wraps to a text", { wrap: async () => "wrapped" }, "INVALID_ARGUMENT"],
  ["wraps to bytes", { wrap: async (key: Uint8Array) => ({ by: "k", wrapped: key }) }, "INVALID_ARGUMENT"],
  ["wraps with a key that it does not have", { wrap: () => ({ by: "k", wrapped: "AAAA" }) }, "PERMISSION_DENIED"],
  ["unwraps to a short key", { unwrap: async () => Buffer.alloc(16) }, "INVALID_ARGUMENT"],
  ["unwraps to a text", { unwrap: async () => "k".repeat(32) }, "INVALID_ARGUMENT"],
  ["unwraps to nothing", { unwrap: async () => undefined }, "INVALID_ARGUMENT"],
  ["unwraps to another key", { unwrap: async () => Buffer.alloc(32, 7) }, "INVALID_ARGUMENT"],
  ["is away", { unwrap: () => Promise.reject(new Error("connect ECONNREFUSED")) }, "UNAVAILABLE"],
  ["never wraps", { wrap: () => new Promise(() => undefined) }, "TIMEOUT"],
  ["never unwraps", { unwrap: () => new Promise(() => undefined) }, "TIMEOUT"],
];

describe("a provider that", () => {
  test.each(WRONG)("%s is named in time, and a keyring is neither made nor changed", async (_, answers, code) => {
    const { keyring, options } = await sampleKeyring();
    const tenant = await keyring.tenantKey("", { isNew: true });
    const wrong = { ...options.provider, ...answers, name: "our vault" } as KeyProvider;
    const store = new InMemoryStore();
    const failure = { code };
    await expect(Keyring.create({ store, provider: wrong, timeoutMs: 50 })).rejects.toMatchObject(failure);
    expect(await store.list([], { recursive: true }), "nothing is written").toEqual([]);

    let provider = options.provider;
    const changing: KeyProvider = {
      name: "our vault",
      wrap: (...given) => provider.wrap(...given),
      unwrap: (...given) => provider.unwrap(...given),
    };
    const opened = await Keyring.open({ ...options, provider: changing, timeoutMs: 50 });
    provider = wrong;
    await expect(opened.rotate({ graceMs: 0 })).rejects.toMatchObject(failure);
    provider = options.provider;
    expect(await (await Keyring.open(options)).tenantKey("", { isNew: false })).toEqual(tenant);
    await opened.rotate({ graceMs: 0 });
    expect(await (await Keyring.open(options)).tenantKey("", { isNew: false })).toEqual(tenant);
  });

  test("wipes what it was handed, or what it handed out, wipes nothing of the keyring", async () => {
    const { options } = await sampleKeyring();
    let handedOut: Uint8Array | undefined;
    const provider: KeyProvider = {
      name: "wiping",
      async wrap(key, place) {
        const wrapped = await options.provider.wrap(key, place);
        key.fill(0);
        return wrapped;
      },
      async unwrap(wrapped, place) {
        handedOut?.fill(0);
        handedOut = await options.provider.unwrap(wrapped, place);
        return handedOut;
      },
    };
    const store = new InMemoryStore();
    const keyring = await Keyring.create({ store, provider });
    const key = await keyring.tenantKey("", { isNew: true });
    handedOut?.fill(0);
    await keyring.rotate();
    const opened = await Keyring.open({ store, provider: options.provider });
    expect(await opened.tenantKey("", { isNew: false })).toEqual(key);
  });

  test("lost the key of a master key that is retired is not asked for it: every key opens", async () => {
    const { keyring, options, variable } = await sampleKeyring();
    const tenant = await keyring.tenantKey("", { isNew: true });
    const added = newOuterKey();
    process.env[variable] = `${added},${process.env[variable]}`;
    expect(await keyring.rotate()).toMatchObject({ retired: 1 });
    process.env[variable] = added;
    const opened = await Keyring.open(options);
    expect(await opened.tenantKey("", { isNew: false })).toEqual(tenant);
    expect(await opened.rotate({ graceMs: 0 })).toMatchObject({ removed: 2, retired: 0 });
  });
});

test("what cannot be done with a key file is a StateError that names it", async () => {
  const taken = join(folder, "folder");
  await mkdir(taken, { mode: 0o700 });
  await expect(createKeyFile(join(folder, "no", "such", "folder"))).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(createKeyFile(undefined as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const store = new InMemoryStore();
  await expect(Keyring.create({ store, provider: fileKeys(taken) })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining(JSON.stringify(taken)),
  });
});

test("new Keyring() throws and names the function that makes one", async () => {
  const Plain = Keyring as unknown as new (options?: unknown) => Keyring;
  expect(() => new Plain()).toThrow(/Keyring\.open/);
  expect(() => new Plain({ store: new InMemoryStore() })).toThrow(/Keyring\.open/);
  const { options } = await sampleKeyring();
  for (const wrong of [{ timeoutMs: 0 }, { timeoutMs: "5" }, { now: 5 }]) {
    await expect(Keyring.open({ ...options, ...(wrong as object) })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  }
});
