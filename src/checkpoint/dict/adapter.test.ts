import { describe, expect, test } from "vitest";
import { MapStorage, observed, without } from "../../../test/dict-storages.ts";
import { conversation, grow } from "../../../test/dict-thread-operations.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { uncheckedHead } from "../base-checkpointer.ts";
import { StorageBackendAdapter } from "./adapter.ts";
import type { DictStorage } from "./dict-storage.ts";

const failing = (error: unknown): StorageBackendAdapter => {
  const storage = observed(new MapStorage(), () => {
    throw error;
  });
  return new StorageBackendAdapter(storage, { retry: { attempts: 1 } });
};

describe("what may be handed in", () => {
  test("a storage that lacks methods is refused at once, with their names", () => {
    const storage = { load: async () => undefined } as unknown as DictStorage;
    expect(() => new StorageBackendAdapter(storage)).toThrow(TypeError);
    expect(() => new StorageBackendAdapter(storage)).toThrow("this one lacks save and delete");
  });

  test("an optional method that is no method is refused", () => {
    const storage = Object.assign(new MapStorage(), { close: true }) as unknown as DictStorage;
    expect(() => new StorageBackendAdapter(storage)).toThrow("its close must be a method or missing");
  });

  test("a class instead of an object, and nothing at all, are refused", () => {
    expect(() => new StorageBackendAdapter(MapStorage as unknown as DictStorage)).toThrow("construct or call it first");
    expect(() => new StorageBackendAdapter(null as unknown as DictStorage)).toThrow("not null");
    expect(() => new StorageBackendAdapter("redis://x:secret@y" as unknown as DictStorage)).toThrow(
      /not a value of type string$/,
    );
  });

  test("a misspelt option and a durability that does not exist are refused", () => {
    expect(() => new StorageBackendAdapter(new MapStorage(), { durabilty: "os" } as never)).toThrow(
      'no option "durabilty"',
    );
    expect(() => new StorageBackendAdapter(new MapStorage(), { durability: "solid" as never })).toThrow("memory, os");
  });

  test("a storage without types, whose methods are synchronous and whose absent is null, works", async () => {
    const cells = new Map<string, object>();
    const storage = {
      save: (key: string, data: object) => void cells.set(key, data),
      load: (key: string) => cells.get(key) ?? null,
      delete: (key: string) => cells.delete(key),
      list: (prefix: string) => [...cells.keys()].filter((key) => key.startsWith(prefix)).values(),
    };
    const adapter = new StorageBackendAdapter(storage as unknown as DictStorage);
    const state = await grow(adapter, "t", 20);
    expect((await adapter.load("t"))?.toCheckpoint()).toEqual(state.toCheckpoint());
    expect([...(await adapter.listThreads())]).toEqual(["t"]);
    expect(await adapter.load("other")).toBeUndefined();
  });
});

describe("what it advertises", () => {
  test("the methods of the storage decide about the capabilities", () => {
    const flagsOf = (storage: DictStorage) => {
      const { conditionalSave, lease, listThreads, search, vacuum, ttl } = new StorageBackendAdapter(storage)
        .capabilities;
      return { conditionalSave, lease, listThreads, search, vacuum, ttl };
    };
    const all = { conditionalSave: true, lease: true, listThreads: true, search: true, vacuum: true, ttl: false };
    expect(flagsOf(new MapStorage())).toEqual(all);
    expect(flagsOf(without(new MapStorage(), "compareAndSave"))).toEqual({
      ...all,
      conditionalSave: false,
      lease: false,
    });
    expect(flagsOf(without(new MapStorage(), "list"))).toEqual({
      ...all,
      listThreads: false,
      search: false,
      vacuum: false,
    });
  });

  test("durability is what it was told, and the least when it was told nothing", () => {
    expect(new StorageBackendAdapter(new MapStorage()).capabilities.durability).toBe("memory");
    expect(new StorageBackendAdapter(new MapStorage(), { durability: "fsync" }).capabilities.durability).toBe("fsync");
  });

  test("a record above the limit it was told is TOO_LARGE, and nothing is written", async () => {
    const storage = new MapStorage();
    const adapter = new StorageBackendAdapter(storage, { maxRecordBytes: 1000 });
    const large = AgentState.create({ metadata: { text: "x".repeat(1000) } });
    await expect(adapter.save(large, "t")).rejects.toMatchObject({ code: "TOO_LARGE" });
    expect(storage.cells.size).toBe(0);
  });
});

describe("failures", () => {
  test("what a storage throws reaches the caller with its place, and is never 'absent'", async () => {
    const adapter = failing(new Error("the disk is on fire"));
    const calls = {
      load: () => adapter.load("t"),
      exists: () => adapter.exists("t"),
      listCheckpoints: () => adapter.listCheckpoints("t"),
      listThreads: () => adapter.listThreads(),
      delete: () => adapter.delete("t"),
      save: () => adapter.save(conversation(1), "t"),
      copyThread: () => adapter.copyThread("t", "u"),
    };
    for (const [name, call] of Object.entries(calls)) {
      await expect(call(), name).rejects.toMatchObject({ code: "UNKNOWN", message: /^storage: .*the disk is on fire/ });
    }
  });

  test("errors begin with the name it was given", async () => {
    const storage = observed(new MapStorage(), () => {
      throw new Error("no");
    });
    const adapter = new StorageBackendAdapter(storage, { name: "etcd", retry: { attempts: 1 } });
    await expect(adapter.load("t")).rejects.toThrow('etcd: load failed for thread "t": no');
  });

  test("a storage may say by a StateError, or by an error of Node's, what kind of failure it is", async () => {
    const forbidden = failing(new StateError("PERMISSION_DENIED", "no access to the table"));
    await expect(forbidden.load("t")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    const byCode = {
      ECONNRESET: "UNAVAILABLE",
      ETIMEDOUT: "TIMEOUT",
      ENOSPC: "STORAGE_FULL",
      EACCES: "PERMISSION_DENIED",
    };
    for (const [code, expected] of Object.entries(byCode)) {
      await expect(failing(Object.assign(new Error("no"), { code })).load("t")).rejects.toMatchObject({
        code: expected,
      });
    }
    const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    await expect(failing(new TypeError("fetch failed", { cause })).load("t")).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    await expect(failing(new DOMException("late", "TimeoutError")).load("t")).rejects.toMatchObject({
      code: "TIMEOUT",
    });
  });

  test("a password in a storage's message does not reach the caller", async () => {
    const failure = await failing(new Error("connect redis://user:hunter2@host failed"))
      .load("t")
      .catch((error) => error);
    expect(JSON.stringify([failure.message, failure.stack, String(failure.cause)])).not.toContain("hunter2");
  });

  test("a storage that fails for a moment is asked again, and the save is applied once", async () => {
    let failures = 2;
    const storage = observed(new MapStorage(), (call) => {
      if (call !== "compareAndSave" || failures === 0) return undefined;
      failures--;
      // The write took effect; only its answer was lost.
      return () => {
        throw Object.assign(new Error("cut"), { code: "ECONNRESET" });
      };
    });
    const adapter = new StorageBackendAdapter(storage, { retry: { baseDelayMs: 1 } });
    await grow(adapter, "t", 3);
    expect((await adapter.listCheckpoints("t")).map(({ checkpointId }) => checkpointId)).toEqual(["c3", "c2", "c1"]);
    expect(failures).toBe(0);
  });

  test("a compareAndSave that always refuses is reported and does not hang", async () => {
    const storage = Object.assign(new MapStorage(), { compareAndSave: async () => false });
    const adapter = new StorageBackendAdapter(storage, { retry: { attempts: 2, baseDelayMs: 1 } });
    await expect(adapter.save(conversation(1), "t")).rejects.toThrow("It must compare by value");
  });

  test("a list that returns no keys is reported and not taken for an empty one", async () => {
    for (const answer of [undefined, null, "holdfast-thread-x", [Buffer.from("key")]]) {
      const storage = Object.assign(new MapStorage(), { list: async () => answer }) as unknown as DictStorage;
      await expect(new StorageBackendAdapter(storage).listThreads()).rejects.toThrow("must return its keys as strings");
    }
  });

  test("list may return keys it was not asked for, and the same key twice", async () => {
    const storage = new MapStorage();
    const careless = Object.assign(new MapStorage(storage.cells), {
      list: async () => [...storage.cells.keys(), ...storage.cells.keys(), "other"],
    });
    await grow(new StorageBackendAdapter(storage), "t", 17);
    expect([...(await new StorageBackendAdapter(careless).listThreads())]).toEqual(["t"]);
  });
});

describe("without compareAndSave", () => {
  test("an expected head cannot be promised, and saying so names the flag", async () => {
    const adapter = new StorageBackendAdapter(without(new MapStorage(), "compareAndSave"));
    const call = adapter.save(conversation(1), "t", { expectedHead: null });
    await expect(call).rejects.toMatchObject({ code: "UNSUPPORTED", context: { capability: "conditionalSave" } });
    await adapter.save(conversation(1), "t", { expectedHead: uncheckedHead });
    expect((await adapter.load("t"))?.messages).toHaveLength(1);
  });

  test("one process does not overtake itself, even through two adapters of one storage", async () => {
    const storage = without(new MapStorage(), "compareAndSave");
    const adapters = [new StorageBackendAdapter(storage), new StorageBackendAdapter(storage)];
    await adapters[0]!.save(AgentState.create({ metadata: { count: 0 } }), "t");
    const increment = async (adapter: StorageBackendAdapter): Promise<void> => {
      for (;;) {
        const state = (await adapter.load("t"))!;
        try {
          await adapter.save(state.withMetadata({ count: (state.metadata["count"] as number) + 1 }), "t");
          return;
        } catch (error) {
          if (!StateError.is(error, "CONFLICT")) throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => increment(adapters[index % 2]!)));
    expect((await adapters[0]!.load("t"))?.metadata["count"]).toBe(40);
  });
});

describe("closing", () => {
  test("close() closes a storage that can be closed, once", async () => {
    let closed = 0;
    const storage = Object.assign(new MapStorage(), { close: async () => void closed++ });
    const adapter = new StorageBackendAdapter(storage);
    await adapter.close();
    await adapter.close();
    expect(closed).toBe(1);
    await expect(adapter.load("t")).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("close() closes a storage once, though its log is only being loaded", async () => {
    let closed = 0;
    const storage = Object.assign(new MapStorage(), { close: async () => void closed++ });
    const adapter = new StorageBackendAdapter(storage);
    const asked = adapter.exists("t").catch(() => undefined);
    await adapter.close();
    await asked;
    expect(closed).toBe(1);
  });

  test("a storage without close() stays usable by others", async () => {
    const storage = new MapStorage();
    const adapter = new StorageBackendAdapter(storage);
    await grow(adapter, "t", 1);
    await adapter.close();
    expect((await new StorageBackendAdapter(storage).load("t"))?.messages).toHaveLength(1);
  });
});
