import { describe, expect, test } from "vitest";
import { MapStorage, observed, without } from "../../../test/dict-storages.ts";
import { grow, type Operation, operationsOn, viewsOf } from "../../../test/dict-thread-operations.ts";
import { StorageBackendAdapter } from "./adapter.ts";
import type { DictStorage } from "./dict-storage.ts";
import { DictLog } from "./log.ts";

const LENGTH = 19;
const operations = operationsOn(LENGTH);

const open = (storage: DictStorage): StorageBackendAdapter =>
  new StorageBackendAdapter(storage, { retry: { attempts: 1 } });

/** Keeps every checkpoint: what it removes belonged to no thread. */
const sweep = async (cells: Map<string, string>): Promise<void> => {
  // A copy that seems to be under way is given up by the second.
  for (let time = 0; time < 2; time++) await open(new MapStorage(cells)).vacuum({ keepLast: 1000 });
};

/** Falls asleep before its n-th call while `meanwhile` happens, makes `more` calls when it wakes up, and is gone. */
function doomed(cells: Map<string, string>, n: number, more: number, meanwhile: () => Promise<unknown>) {
  let calls = 0;
  let asleep: Promise<unknown> | undefined;
  const storage = observed(new MapStorage(cells), async () => {
    const call = ++calls;
    if (call === n) asleep = meanwhile();
    await asleep;
    if (call >= n + more) throw new Error("the process is gone");
    return undefined;
  });
  return { storage, slept: (): boolean => calls >= n };
}

const rivals: Readonly<Record<string, Operation>> = {
  "the thread is deleted": (adapter) => adapter.delete("t"),
  "the thread is deleted and made anew": async (adapter) => {
    await adapter.delete("t");
    await grow(adapter, "t", 3);
  },
  "old checkpoints are vacuumed": (adapter) => adapter.vacuum({ keepLast: 1 }),
  "the newest checkpoint is deleted": (adapter) => adapter.delete("t", { checkpointId: `c${LENGTH}` }),
};

describe("what faults left behind is found by the next vacuum", () => {
  for (const [name, operation] of Object.entries(operations)) {
    test(`${name} that slept while others worked, woke up and died: its keys are swept`, async () => {
      const prepared = new Map<string, string>();
      await grow(open(new MapStorage(prepared)), "t", LENGTH);
      let orphaned = 0;
      for (const [rival, meanwhile] of Object.entries(rivals)) {
        for (let n = 1, slept = true; slept; n++) {
          for (const more of [1, 3]) {
            const cells = new Map(prepared);
            const process = doomed(cells, n, more, () => meanwhile(open(new MapStorage(cells))));
            await operation(open(process.storage)).catch(() => undefined);
            slept = process.slept();
            if (!slept) break;
            const what = `${rival}, asleep at call ${n}, ${more} more`;
            const before = await viewsOf(open(new MapStorage(cells)));
            const size = cells.size;
            await sweep(cells);
            if (cells.size < size) orphaned++;
            expect(await viewsOf(open(new MapStorage(cells))), what).toEqual(before);
            const adapter = open(without(new MapStorage(cells), "list"));
            await adapter.delete("t");
            await adapter.delete("u");
            expect([...cells.keys()], what).toEqual([]);
          }
        }
      }
      if (name === "a save") expect(orphaned, "there was something to sweep").toBeGreaterThan(0);
    });
  }

  test("the deletion of a thread takes away what a late writer wrote for it", async () => {
    const cells = new Map<string, string>();
    await grow(open(new MapStorage(cells)), "t", LENGTH);
    const body = [...cells.keys()].find((key) => key.endsWith("-body")) ?? "";
    const late = body.replace(/-[0-9a-f]{16}-body$/, "-0123456789abcdef-body");
    expect(late).not.toBe(body);
    cells.set(late, cells.get(body) ?? "");
    await open(new MapStorage(cells)).delete("t");
    expect([...cells.keys()]).toEqual([]);
  });

  test("a sweep that is cut off at any call harms nothing, and the next one finishes it", async () => {
    const cells = new Map<string, string>();
    await grow(open(new MapStorage(cells)), "t", LENGTH);
    await grow(open(new MapStorage(cells)), "gone", LENGTH);
    const remains = new Map([...cells].filter(([key]) => !key.includes("-thread-")));
    await open(new MapStorage(cells)).delete("gone");
    const whole = new Map(cells);
    for (const [key, text] of remains) cells.set(key, text);
    expect(cells.size).toBeGreaterThan(whole.size);
    for (let n = 1; ; n++) {
      const swept = new Map(cells);
      let calls = 0;
      const dying = observed(new MapStorage(swept), () => {
        if (++calls >= n) throw new Error("the process is gone");
        return undefined;
      });
      const done = await open(dying)
        .vacuum({ keepLast: 1000 })
        .then(() => true)
        .catch(() => false);
      await sweep(swept);
      expect(swept, `cut off at call ${n}`).toEqual(whole);
      if (done) break;
    }
  });

  test("a copy that is under way while vacuums run is not given up as long as it goes on", async () => {
    const cells = new Map<string, string>();
    await grow(open(new MapStorage(cells)), "t", 100);
    const parts = [...cells.keys()].filter((key) => key.includes("-part-")).length;
    let [vacuums, written] = [0, 0];
    const copying = observed(new MapStorage(cells), async (call, key) => {
      if (call === "compareAndSave" && key.includes("-part-") && ++written % 20 === 0) {
        vacuums++;
        await open(new MapStorage(cells)).vacuum({ keepLast: 1000 });
      }
      return undefined;
    });
    expect(await open(copying).copyThread("t", "u")).toBe(true);
    expect(vacuums).toBeGreaterThanOrEqual(5);
    expect(written, "copied once: the pages and the bodies").toBe(parts);
    expect((await open(new MapStorage(cells)).load("u"))?.messages).toHaveLength(100);
  });

  test("a damaged orphan is swept by the others of its thread, and a damaged thread keeps nothing from being swept", async () => {
    const cells = new Map<string, string>();
    await grow(open(new MapStorage(cells)), "damaged", LENGTH);
    const damaged = [...cells.keys()];
    await grow(open(new MapStorage(cells)), "gone", LENGTH);
    const remains = new Map([...cells].filter(([key]) => !damaged.includes(key) && !key.includes("-thread-")));
    await open(new MapStorage(cells)).delete("gone");
    for (const [key, text] of remains) cells.set(key, text);
    const page = damaged.find((key) => key.endsWith("-page")) ?? "";
    cells.set(page, (cells.get(page) ?? "").replace("c3", "c4"));
    const [orphan = "", ...others] = remains.keys();
    cells.set(orphan, "{}");
    const options = { name: "storage", durability: "memory", maxRecordBytes: 1e6 } as const;
    await new DictLog(new MapStorage(cells), options).removeLeftovers();
    expect([...cells.keys()].sort()).toEqual([...damaged].sort());
    expect(others.length).toBeGreaterThan(LENGTH / 2);
    const load = open(new MapStorage(cells)).load("damaged", { checkpointId: "c3" });
    await expect(load).rejects.toMatchObject({ code: "CORRUPT" });
  });
});
