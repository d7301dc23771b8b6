import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { sqliteStore } from "../../src/backends/sqlite/store.ts";
import { createKeyFile, environmentKeys, fileKeys, newOuterKey } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import type { Namespace } from "../../src/store/driver/store-driver.ts";
import type { PutOptions, PutResult } from "../../src/store/items/items.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-keyring-"));
afterAll(() => rm(folder, { recursive: true }));

const PEOPLE = ["ada@example.org", "bob@example.org", "cem@example.org"];

/** Every key of a ring, by its name. */
async function keysOf(keyring: Keyring): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  const tenant = await keyring.tenantKey("", { isNew: true });
  if (tenant !== undefined) keys.set(tenant.id, Buffer.from(tenant.key).toString("hex"));
  for (const { id, key } of await keyring.personKeys("", PEOPLE)) keys.set(id, Buffer.from(key).toString("hex"));
  return keys;
}

/** A store that breaks at its n-th write: before it was made, or after, when its answer is lost. */
class BreakingStore extends InMemoryStore {
  writes = 0;
  breaksAt = Number.POSITIVE_INFINITY;
  when: "before" | "after" = "before";

  override async put(namespace: Namespace, key: string, value: unknown, options?: PutOptions): Promise<PutResult> {
    this.writes++;
    if (this.writes === this.breaksAt && this.when === "before") throw new Error("killed");
    const result = await super.put(namespace, key, value, options);
    if (this.writes === this.breaksAt) throw new Error("killed");
    return result;
  }
}

describe("a keyring", () => {
  test("keeps its keys wrapped and hides who has one", async () => {
    const path = join(folder, "hidden.db");
    const store = sqliteStore({ path });
    const { keyring } = await sampleKeyring({ store });
    const keys = await keysOf(keyring);
    await store.close();
    const bytes = await readFile(path);
    for (const key of keys.values()) {
      expect(bytes.includes(Buffer.from(key, "hex"))).toBe(false);
      expect(bytes.includes(Buffer.from(key, "hex").toString("base64"))).toBe(false);
    }
    for (const subject of PEOPLE) expect(bytes.includes(subject)).toBe(false);
  });

  test("gives every caller the same keys, even concurrent ones, and after it was opened again", async () => {
    const { keyring, options } = await sampleKeyring();
    const others = await Promise.all([1, 2, 3].map(() => Keyring.open(options)));
    const all = await Promise.all([keyring, ...others].map(keysOf));
    expect(new Set(all.map((keys) => JSON.stringify([...keys]))).size).toBe(1);
    expect(await keysOf(await Keyring.open(options))).toEqual(all[0]);
  });

  test("gives a person who comes back one new key, however many callers ask for it at the same time", async () => {
    const { keyring, options } = await sampleKeyring();
    const [before] = await keyring.personKeys("", ["ada"]);
    for await (const people of keyring.people()) for (const { token } of people) await keyring.destroy(token);
    const others = await Promise.all([1, 2, 3, 4, 5].map(() => Keyring.open(options)));
    const made = await Promise.all(others.map(async (other) => (await other.personKeys("", ["ada"]))[0]));
    expect(new Set(made.map((key) => key?.id)).size).toBe(1);
    expect(new Set(made.map((key) => Buffer.from(key?.key ?? "").toString("hex"))).size).toBe(1);
    expect(made[0]?.id).not.toBe(before?.id);
  });

  test("is made once, and only where that is asked for: a lost one is named, and nothing is written", async () => {
    const { options } = await sampleKeyring();
    await expect(Keyring.create(options)).rejects.toMatchObject({ code: "CONFLICT" });
    const store = new InMemoryStore();
    await expect(Keyring.open({ ...options, store })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringMatching(/no keyring in this store.*own backup.*Nothing was written/s),
    });
    expect(await store.list([], { recursive: true })).toHaveLength(0);
  });

  test("refuses what is no store, no provider and no option", async () => {
    const { options } = await sampleKeyring();
    await expect(Keyring.open({ ...options, store: {} as InMemoryStore })).rejects.toThrow(/takes a store/);
    await expect(Keyring.open({ ...options, provider: {} as never })).rejects.toThrow(/KeyProvider/);
    await expect(Keyring.open({ ...options, cache: 1 } as never)).rejects.toThrow(/cache/);
  });
});

describe("the outermost key", () => {
  test("in a file is made once, for its owner alone", async () => {
    const path = join(folder, "made.key");
    await createKeyFile(path);
    const before = await readFile(path, "utf8");
    await expect(createKeyFile(path)).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining(path),
    });
    expect(await readFile(path, "utf8")).toBe(before);
    const { options } = await sampleKeyring({ provider: fileKeys(path) });
    await chmod(path, 0o644);
    await expect(Keyring.open(options)).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  });

  test("in a file that was lost is named, and nothing is written", async () => {
    const path = join(folder, "lost.key");
    await createKeyFile(path);
    const { options } = await sampleKeyring({ provider: fileKeys(path) });
    const before = JSON.stringify(await options.store.list([], { recursive: true }));
    await rm(path);
    await expect(Keyring.open(options)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringMatching(/the key file ".*lost\.key".*it is not there.*nothing was written/s),
    });
    await expect(readFile(path)).rejects.toMatchObject({ code: "ENOENT" });
    await createKeyFile(path);
    await expect(Keyring.open(options), "another key in its place").rejects.toMatchObject({
      code: "PERMISSION_DENIED",
      message: expect.stringMatching(/no longer holds the key/),
    });
    expect(JSON.stringify(await options.store.list([], { recursive: true }))).toBe(before);
  });

  test("in the environment is read, and a variable that is not set or holds no key is named without its value", async () => {
    const { options, variable } = await sampleKeyring();
    await expect(Keyring.open(options)).resolves.toBeInstanceOf(Keyring);
    process.env[variable] = "c2hvcnQ=";
    const refusal = await Keyring.open(options).catch((error: Error) => error.message);
    expect(refusal).toMatch(new RegExp(`${variable} must hold keys of 32 bytes`));
    expect(refusal).not.toContain("c2hvcnQ");
    delete process.env[variable];
    await expect(Keyring.open(options)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(() => environmentKeys("")).toThrow(/name of a variable/);
  });
});

describe("a rotation", () => {
  test("wraps every key anew and changes no key; then the old outermost key is not needed any more", async () => {
    const path = join(folder, "rotated.key");
    await createKeyFile(path);
    const { keyring, options } = await sampleKeyring({ provider: fileKeys(path) });
    const keys = await keysOf(keyring);
    const old = (await readFile(path, "utf8")).trim();
    const backup = new InMemoryStore();
    for (const { namespace, key, value } of await options.store.list([], { recursive: true })) {
      await backup.put(namespace, key, value);
    }
    const added = newOuterKey();
    await writeFile(path, `# newest first\n${added}\n${old}\n`);
    const first = await keyring.rotate({ graceMs: 60_000 });
    expect(first).toMatchObject({ rewrapped: 5, removed: 0, retired: 1 });
    expect(first.outerKeys, "the retired master key still needs it").toHaveLength(2);
    const second = await keyring.rotate({ graceMs: 0 });
    expect(second).toMatchObject({ rewrapped: 5, retired: 0 });
    expect(second.outerKeys).toHaveLength(1);
    await writeFile(path, `${added}\n`);
    expect(await keysOf(await Keyring.open(options))).toEqual(keys);
    await expect(Keyring.open({ ...options, store: backup }), "an old copy of the keyring").rejects.toMatchObject({
      code: "PERMISSION_DENIED",
    });
  });

  test("that breaks off at any write leaves a keyring that works, and the next call finishes it", async () => {
    for (const when of ["before", "after"] as const) {
      for (let step = 1; ; step++) {
        const store = new BreakingStore();
        const { keyring, options } = await sampleKeyring({ store });
        const keys = await keysOf(keyring);
        const [gone] = await keyring.personKeys("", ["gone"]);
        for await (const people of keyring.people()) {
          for (const { token, subject } of people) if (subject === "gone") await keyring.destroy(token);
        }
        [store.writes, store.breaksAt, store.when] = [0, step, when];
        const isBroken = await keyring.rotate({ graceMs: 0 }).then(
          () => false,
          () => true,
        );
        store.breaksAt = Number.POSITIVE_INFINITY;
        const reopened = await Keyring.open(options);
        expect(await keysOf(reopened), `${when} write ${step}`).toEqual(keys);
        const report = await reopened.rotate({ graceMs: 0 });
        expect(report, `${when} write ${step}`).toMatchObject({ retired: 0 });
        const finished = await Keyring.open(options);
        expect(await keysOf(finished), `${when} write ${step}, finished`).toEqual(keys);
        expect((await finished.keysById([gone?.id ?? ""])).get(gone?.id ?? ""), "stays destroyed").toBeUndefined();
        if (isBroken) continue;
        expect(step).toBeGreaterThan(5);
        break;
      }
    }
  });

  test("does not disturb others who have the keyring open, and what they make meanwhile lasts", async () => {
    const { keyring, options } = await sampleKeyring({ cacheMs: 0 });
    const other = await Keyring.open(options);
    await keysOf(other);
    await keyring.rotate();
    const [made] = await other.personKeys("", ["later"]);
    await keyring.rotate({ graceMs: 0 });
    const [found] = await (await Keyring.open(options)).personKeys("", ["later"]);
    expect(found).toEqual(made);
    expect(await keysOf(other)).toEqual(await keysOf(await Keyring.open(options)));
  });
});
