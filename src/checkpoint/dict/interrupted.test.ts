import { describe, expect, test } from "vitest";
import { MapStorage, observed, without } from "../../../test/dict-storages.ts";
import { grow, loaded, operationsOn, viewsOf } from "../../../test/dict-thread-operations.ts";
import { userMessage } from "../../state/message.ts";
import { StorageBackendAdapter } from "./adapter.ts";
import type { DictStorage } from "./dict-storage.ts";

type Missing = readonly ("list" | "compareAndSave")[];

/** A process that dies at its n-th call to the storage: before the call takes effect, or before it hears the answer. */
function dying(cells: Map<string, string>, n: number, when: "before" | "after", missing: Missing) {
  let calls = 0;
  const die = (): never => {
    throw new Error("the process is gone");
  };
  const storage = observed(new MapStorage(cells), () => {
    calls++;
    if (calls < n) return undefined;
    return calls === n && when === "after" ? die : die();
  });
  return {
    storage: without(storage, ...missing),
    died: (): boolean => calls >= n,
  };
}

const open = (storage: DictStorage): StorageBackendAdapter =>
  new StorageBackendAdapter(storage, { retry: { attempts: 1 } });

/** What is still there after the threads were deleted. */
const keysLeft = async (cells: Map<string, string>, missing: Missing): Promise<readonly string[]> => {
  const adapter = open(without(new MapStorage(cells), ...missing));
  await adapter.delete("t");
  await adapter.delete("u");
  return [...cells.keys()];
};

/** 16 fills a page; 19 has a full one and an unfinished one. */
const CASES: readonly { readonly length: number; readonly missing: Missing; readonly only?: string }[] = [
  { length: 16, missing: [] },
  { length: 19, missing: ["compareAndSave"] },
  { length: 16, missing: ["list"] },
  // The save that fills a page merges pages too.
  { length: 80, missing: ["list"], only: "a save" },
];

for (const { length, missing, only } of CASES) {
  describe(`a thread of ${length}, ${missing.length > 0 ? `without ${missing.join()}` : "with all methods"}`, () => {
    for (const [name, operation] of Object.entries(operationsOn(length))) {
      if ((name === "a vacuum" && missing.includes("list")) || (only ?? name) !== name) continue;
      test(`${name} that is cut off at any call is done or not, and leaves nothing behind`, async () => {
        const prepared = new Map<string, string>();
        await grow(open(new MapStorage(prepared)), "t", length);
        const before = await viewsOf(open(new MapStorage(prepared)));
        const done = new Map(prepared);
        await operation(open(without(new MapStorage(done), ...missing)));
        const after = await viewsOf(open(new MapStorage(done)));
        const seen = { before: 0, after: 0 };
        for (let n = 1, died = true; died; n++) {
          for (const when of ["before", "after"] as const) {
            const cells = new Map(prepared);
            const process = dying(cells, n, when, missing);
            const acknowledged = await operation(open(process.storage)).then(
              () => true,
              () => false,
            );
            died = process.died();
            const views = await viewsOf(open(new MapStorage(cells)));
            const isBefore = JSON.stringify(views) === JSON.stringify(before) && !acknowledged;
            seen[isBefore ? "before" : "after"]++;
            if (!isBefore) expect(views, `cut off ${when} call ${n}`).toEqual(after);
            expect(await keysLeft(new Map(cells), missing), `cut off ${when} call ${n}`).toEqual([]);
            await goesOn(without(new MapStorage(cells), ...missing));
            expect(await keysLeft(cells, missing), `cut off ${when} call ${n}, and gone on`).toEqual([]);
          }
        }
        expect(seen.before).toBeGreaterThan(0);
        expect(seen.after).toBeGreaterThan(0);
      });
    }
  });
}

/** Whatever was cut off, the next program can load and save, and make the same thread again. */
async function goesOn(storage: DictStorage): Promise<void> {
  const adapter = open(storage);
  for (const threadId of ["t", "u"]) {
    const state = (await adapter.load(threadId)) ?? (await grow(adapter, threadId, 1));
    const [newest] = await adapter.listCheckpoints(threadId, { limit: 1 });
    await adapter.save(state.withMessage(userMessage("later")), threadId);
    const [later, parent] = await adapter.listCheckpoints(threadId, { limit: 2 });
    expect([parent?.checkpointId, later?.parentId]).toEqual([newest?.checkpointId, newest?.checkpointId]);
    expect((await loaded(adapter, threadId)).messages.at(-1)?.content).toBe("later");
  }
}
