import { describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import type { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { attributed } from "../../src/state/people/subjects.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import type { Store } from "../../src/store/store.ts";
import { sampleKeyring } from "./sample-keyring.ts";

/** The driver below the sealing: what a reader of the storage sees. */
async function stored(store: InMemoryStore): Promise<string> {
  const driver = accessOf(store)?.driver;
  const scope = { namespace: [], recursive: true, condition: undefined };
  return JSON.stringify(await driver?.scan(scope, { limit: 100 }));
}

async function destroy(keyring: Keyring, person: string): Promise<void> {
  for await (const people of keyring.people()) {
    for (const { token, subject } of people) if (subject === person) await keyring.destroy(token);
  }
}

/** A sealed store and, on the same items, one that looks at them as they lie there. */
async function place(options: { vectors?: "plain" } = {}) {
  const { keyring } = await sampleKeyring({ cacheMs: 0 });
  const plain = new InMemoryStore();
  const below = accessOf(plain)?.driver;
  if (below === undefined) throw new Error("no driver");
  const sealing = new Sealing({ keyring, ...options });
  // The same driver under both.
  const store: Store = new InMemoryStore({ sealing: { overStore: () => sealing.overStore(below) } });
  return { keyring, plain, store };
}

describe("a sealed store", () => {
  test("shows nothing of values and metadata, filters them all the same, and says what it cannot find", async () => {
    const { plain, store } = await place();
    await store.put(["facts"], "a", { colour: "zebra" }, { metadata: { source: "zebra-mail", rank: 2 } });
    await store.put(["facts"], "b", { colour: "lion" }, { metadata: { rank: 1 } });
    expect(await stored(plain)).not.toContain("zebra");
    expect((await store.list(["facts"], { filter: { colour: "zebra" } })).map(({ key }) => key)).toEqual(["a"]);
    expect((await store.list(["facts"], { filter: { "metadata.rank": 1 } })).length).toBeLessThanOrEqual(1);
    expect(await store.connect()).toMatchObject({ sealing: "all", search: true, semanticSearch: false });
    expect((await store.search(["facts"], "zebra")).map(({ key }) => key)).toEqual(["a"]);
    await expect(store.putWithEmbedding(["facts"], "c", 1, [1, 2])).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  test("needs Bob's key for what is Bob's in an item of Ada's, and hers for all of it", async () => {
    const { keyring, plain, store } = await place();
    const put = async () => {
      const value = { text: "giraffe", of: attributed("bob", "zebra"), own: attributed("ada", "lion") };
      await store.put(["facts"], "a", value, { metadata: { subject: "ada", rank: 2 } });
      expect(await store.get(["facts"], "a")).toEqual(value);
      expect((await store.search(["facts"], "zebra")).map(({ key }) => key)).toEqual(["a"]);
      expect(await stored(plain)).not.toMatch(/zebra|giraff|lion/);
    };
    await put();
    await destroy(keyring, "bob");
    const left = await store.getItem<Record<string, unknown>>(["facts"], "a");
    expect(JSON.stringify(left)).not.toContain("zebra");
    expect(left?.value).toMatchObject({ text: "giraffe", own: attributed("ada", "lion") });
    expect(left?.metadata).toEqual({ subject: "ada", rank: 2 });
    expect(await store.search(["facts"], "zebra")).toHaveLength(0);
    await put();
    await destroy(keyring, "ada");
    expect(await store.get(["facts"], "a")).toBeUndefined();
  });

  test("finds by words what is about people as well, and by meaning only where vectors may lie in plain", async () => {
    const { keyring, plain, store } = await place({ vectors: "plain" });
    await store.put(["facts"], "a", { text: "giraffe runs" });
    await store.put(["facts"], "b", { text: "giraffe zebra" }, { metadata: { subject: "ada" } });
    await store.put(["facts"], "c", { text: "giraffe", of: attributed("ada", "zebra") });
    await store.putWithEmbedding(["facts"], "v", { text: "hidden-v" }, [1, 0]);
    expect((await store.search(["facts"], "giraffe")).map(({ key }) => key).toSorted()).toEqual(["a", "b", "c"]);
    expect((await store.search(["facts"], "zebra")).map(({ key }) => key).toSorted()).toEqual(["b", "c"]);
    expect((await store.searchByEmbedding(["facts"], { query: [1, 0] })).map(({ key }) => key)).toEqual(["v"]);
    expect(await stored(plain)).not.toMatch(/zebra|giraff|hidden-v/);
    expect(store.capabilities).toMatchObject({ sealing: "except index", search: true, semanticSearch: true });
    await destroy(keyring, "ada");
    expect(await store.search(["facts"], "zebra")).toHaveLength(0);
  });

  test("an item about a person is gone with the key, parts about them are erased, the rest stays", async () => {
    const { keyring, store } = await place();
    await store.put(["notes"], "owned", { text: "zebra" }, { metadata: { subject: "ada" } });
    await store.put(["holdfast:users", "ada"], "email", "zebra@example.org");
    await store.put(["notes"], "mixed", {
      count: 1,
      about: attributed("ada", "zebra"),
      other: attributed("bob", "lion"),
    });
    await store.put(["notes"], "other", { text: "lion" }, { metadata: { subject: "bob" } });
    await destroy(keyring, "ada");
    expect(await store.get(["notes"], "owned")).toBeUndefined();
    expect(await store.get(["holdfast:users", "ada"], "email")).toBeUndefined();
    expect(await store.get(["notes"], "mixed")).toEqual({
      count: 1,
      about: attributed([], "[erased]"),
      other: attributed("bob", "lion"),
    });
    expect((await store.list([], { recursive: true })).map(({ key }) => key)).toEqual(["mixed", "other"]);
    await store.put(["notes"], "owned", { text: "anew" }, { expectedVersion: null, metadata: { subject: "ada" } });
    expect(await store.get(["notes"], "owned")).toEqual({ text: "anew" });
  });

  test("what is left of people whose keys are gone is taken out when the store is scrubbed", async () => {
    const { keyring, plain, store } = await place();
    await store.put(["notes"], "owned", { text: "zebra" }, { metadata: { subject: "ada" } });
    await store.put(["notes"], "kept", { text: "lion" });
    await destroy(keyring, "ada");
    await accessOf(store)?.driver.scrub?.();
    expect(JSON.parse(await stored(plain))).toHaveLength(1);
    expect(await store.get(["notes"], "kept")).toEqual({ text: "lion" });
  });

  test("items that change places, flipped bits and plain items are refused and named, and are no other's trouble", async () => {
    const { plain, store } = await place();
    for (const key of ["a", "b", "c"]) await store.put(["notes"], key, { text: key });
    const driver = accessOf(plain)?.driver;
    const [a, b] =
      (await driver?.read([
        { namespace: ["notes"], key: "a" },
        { namespace: ["notes"], key: "b" },
      ])) ?? [];
    const whole = a?.value ?? "";
    const flipped = [...Array(whole.length - 6).keys()].map((at) => {
      const position = at + 5;
      return whole.slice(0, position) + (whole[position] === "A" ? "B" : "A") + whole.slice(position + 1);
    });
    const base = { kind: "put", namespace: ["notes"], key: "a", expected: undefined, metadata: undefined } as const;
    const rest = { fields: { value: "{}", metadata: "{}" }, words: undefined, vector: undefined, ttlMs: undefined };
    for (const [index, value] of [b?.value ?? "", '{"text":"plain"}', ...flipped].entries()) {
      const names = { writeKey: `w${index}`, digest: "d", version: `v${index}` };
      await driver?.write([{ ...base, ...rest, ...names, value }]);
      const refusal = { code: "CORRUPT", message: expect.stringContaining('["notes"] "a"') };
      await expect(store.get(["notes"], "a"), value.slice(0, 20)).rejects.toMatchObject(refusal);
    }
    const page = await store.list(["notes"]);
    expect(page.map(({ key }) => key)).toEqual(["b", "c"]);
    expect(page.warnings).toMatchObject([{ code: "CORRUPT" }]);
  });
});
