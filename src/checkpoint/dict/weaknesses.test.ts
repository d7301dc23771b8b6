import { describe, expect, test } from "vitest";
import { MapStorage, observed } from "../../../test/dict-storages.ts";
import { conversation, grow } from "../../../test/dict-thread-operations.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { textOf, userMessage } from "../../state/message.ts";
import { StorageBackendAdapter } from "./adapter.ts";

/** What goes wrong in an adapter like the one of the first documents. */
describe("weaknesses of the ancestor's adapter", () => {
  test("the storage is called as save(key, data), and load's object is turned into a state", async () => {
    const storage = new MapStorage();
    const saved: (readonly [unknown, unknown])[] = [];
    const adapter = new StorageBackendAdapter({
      save: async (key, data) => {
        saved.push([typeof key, typeof data]);
        await storage.save(key, data);
      },
      load: (key) => storage.load(key),
      delete: (key) => storage.delete(key),
    });
    await adapter.save(conversation(2), "t");
    expect(saved).toEqual([["string", "object"]]);
    const state = await adapter.load("t");
    expect(state).toBeInstanceOf(AgentState);
    expect(state?.messages.map(textOf)).toEqual(["message 1", "message 2"]);
  });

  test("listThreads returns every thread and no key of the adapter's own, within the limit", async () => {
    const adapter = new StorageBackendAdapter(new MapStorage());
    for (const threadId of ["user-1", "user-2", "job-1"]) await grow(adapter, threadId, 20);
    expect([...(await adapter.listThreads())].sort()).toEqual(["job-1", "user-1", "user-2"]);
    expect([...(await adapter.listThreads({ pattern: "user-*" }))].sort()).toEqual(["user-1", "user-2"]);
    expect(await adapter.listThreads({ limit: 2 })).toHaveLength(2);
  });

  test("a deleted checkpoint is not loadable, and deleting them one by one deletes the thread", async () => {
    const storage = new MapStorage();
    const adapter = new StorageBackendAdapter(storage);
    await grow(adapter, "t", 3);
    await adapter.delete("t", { checkpointId: "c3" });
    expect(await adapter.load("t", { checkpointId: "c3" })).toBeUndefined();
    expect((await adapter.load("t"))?.messages).toHaveLength(2);
    await adapter.delete("t", { checkpointId: "c1" });
    await adapter.delete("t", { checkpointId: "c2" });
    expect(await adapter.load("t")).toBeUndefined();
    expect(await adapter.exists("t")).toBe(false);
    expect([...storage.cells.keys()]).toEqual([]);
  });

  test("a copy's newest checkpoint is its source's, and so is the order", async () => {
    const adapter = new StorageBackendAdapter(new MapStorage());
    await grow(adapter, "source", 20);
    expect(await adapter.copyThread("source", "target")).toBe(true);
    expect((await adapter.load("target"))?.messages).toHaveLength(20);
    const namesOf = async (threadId: string): Promise<readonly string[]> =>
      (await adapter.listCheckpoints(threadId, { limit: 50 })).map(({ checkpointId }) => checkpointId);
    expect(await namesOf("target")).toEqual(await namesOf("source"));
  });

  test("every save that was acknowledged among many at once is listed", async () => {
    const cells = new Map<string, string>();
    const first = new StorageBackendAdapter(new MapStorage(cells));
    await first.save(conversation(1), "t", { checkpointId: "first" });
    const acknowledged = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const adapter = new StorageBackendAdapter(new MapStorage(cells));
        for (;;) {
          const state = (await adapter.load("t"))!;
          try {
            return await adapter.save(state.withMessage(userMessage("more")), "t", { checkpointId: `save ${index}` });
          } catch (error) {
            if (!StateError.is(error, "CONFLICT")) throw error;
          }
        }
      }),
    );
    const listed = (await first.listCheckpoints("t", { limit: 50 })).map(({ checkpointId }) => checkpointId);
    expect(listed.toSorted()).toEqual([...acknowledged, "first"].sort());
  });

  test("deleting a thread of more than a thousand checkpoints leaves nothing of it", async () => {
    const storage = new MapStorage();
    const adapter = new StorageBackendAdapter(storage);
    let state = AgentState.create();
    for (let step = 0; step < 1100; step++) {
      state = state.withMetadata({ step });
      await adapter.save(state, "t");
    }
    expect(await adapter.delete("t")).toBe(true);
    expect(await adapter.load("t")).toBeUndefined();
    expect([...storage.cells.keys()]).toEqual([]);
  });

  test("a vacuum counts checkpoints, and what is still listed still loads", async () => {
    const adapter = new StorageBackendAdapter(new MapStorage());
    await grow(adapter, "t", 20);
    expect(await adapter.vacuum({ keepLast: 4 })).toMatchObject({ checkpoints: 16, threads: 0 });
    const listed = await adapter.listCheckpoints("t", { limit: 50 });
    expect(listed).toHaveLength(4);
    for (const { checkpointId } of listed) expect(await adapter.load("t", { checkpointId })).toBeDefined();
    expect(await adapter.load("t", { checkpointId: "c16" })).toBeUndefined();
  });

  test("ids that are alike once joined, and names the adapter might use itself, never meet", async () => {
    const adapter = new StorageBackendAdapter(new MapStorage());
    const places = [
      ["a:b", "c"],
      ["a", "b:c"],
      ["a/b", "c"],
      ["a", "latest"],
      ["a:latest", "x"],
      ["a:_checkpoints", "x"],
      ["latest", "_checkpoints"],
      ["holdfast-thread-a", "x"],
    ] as const;
    for (const [index, [threadId, checkpointId]] of places.entries()) {
      const state = (await adapter.load(threadId)) ?? AgentState.create();
      await adapter.save(state.withMetadata({ index }), threadId, { checkpointId });
    }
    for (const [index, [threadId, checkpointId]] of places.entries()) {
      expect((await adapter.load(threadId, { checkpointId }))?.metadata).toEqual({ index });
    }
    expect(await adapter.load("a", { checkpointId: "c" })).toBeUndefined();
  });

  test("keys are letters, digits and dashes, whatever the ids", async () => {
    const keys = new Set<string>();
    const storage = observed(new MapStorage(), (_call, key) => {
      keys.add(key);
      return undefined;
    });
    const adapter = new StorageBackendAdapter(storage);
    for (const threadId of ["../../etc/passwd", "A", "__proto__", "\u{1f600}".repeat(256)]) {
      const state = await grow(adapter, threadId, 17);
      await adapter.save(state, threadId, { checkpointId: "c3", writeId: "../write" });
      await adapter.delete(threadId);
    }
    for (const key of keys) expect(key).toMatch(/^[a-z0-9-]{1,100}$/);
  });
});
