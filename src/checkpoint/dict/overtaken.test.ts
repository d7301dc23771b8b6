import { beforeAll, describe, expect, test } from "vitest";
import { MapStorage, observed, type StorageCall } from "../../../test/dict-storages.ts";
import { grow, type Operation, operationsOn, viewsOf } from "../../../test/dict-thread-operations.ts";
import { StateError } from "../../errors.ts";
import { StorageBackendAdapter } from "./adapter.ts";

/** Fills a page, so that the next append also pushes one out. */
const LENGTH = 16;
const operations = operationsOn(LENGTH);

const open = (cells: Map<string, string>): StorageBackendAdapter => new StorageBackendAdapter(new MapStorage(cells));

/** A process that falls asleep before its n-th call to the storage while `meanwhile` happens. */
function sleeper(cells: Map<string, string>, n: number, meanwhile: () => Promise<void>) {
  let calls = 0;
  const storage = observed(new MapStorage(cells), async () => {
    calls++;
    if (calls === n) await meanwhile();
    return undefined;
  });
  return { adapter: new StorageBackendAdapter(storage), slept: (): boolean => calls >= n };
}

/** Whether the operation happened. A refusal is fine; anything else that goes wrong is not. */
async function happens(operation: Operation, adapter: StorageBackendAdapter): Promise<boolean> {
  try {
    await operation(adapter);
    return true;
  } catch (error) {
    if (StateError.is(error, "CONFLICT") || StateError.is(error, "NOT_FOUND")) return false;
    if (error instanceof Error && error.message.includes("must be there")) return false;
    throw error;
  }
}

const prepared = new Map<string, string>();
beforeAll(() => grow(open(prepared), "t", LENGTH));

const outcomes = new Map<string, Promise<string>>();

/** What is there after some operations, one after the other. */
function outcomeOf(...names: readonly string[]): Promise<string> {
  const known = outcomes.get(names.join()) ?? sequence(names);
  outcomes.set(names.join(), known);
  return known;
}

async function sequence(names: readonly string[]): Promise<string> {
  const cells = new Map(prepared);
  for (const name of names) await happens(operations[name]!, open(cells));
  return JSON.stringify(await viewsOf(open(cells)));
}

/** A vacuum is one change of each thread, not of all: a thread that is made meanwhile is or is not part of it. */
const hasManyOutcomes = (...names: readonly string[]): boolean =>
  names.includes("a vacuum") && (names.includes("a copy") || names.includes("a fork"));

for (const [slowName, slow] of Object.entries(operations)) {
  describe(`while ${slowName} sleeps at any call`, () => {
    for (const [fastName, fast] of Object.entries(operations)) {
      if (hasManyOutcomes(slowName, fastName)) continue;
      test(`${fastName} is as if it came before or after, and nothing is left behind`, async () => {
        for (let n = 1; ; n++) {
          const cells = new Map(prepared);
          let fastHappened = false;
          const process = sleeper(cells, n, async () => {
            fastHappened = await happens(fast, open(cells));
          });
          const slowHappened = await happens(slow, process.adapter);
          if (!process.slept()) break;
          const outcome = JSON.stringify(await viewsOf(open(cells)));
          const happened = [...(slowHappened ? [slowName] : []), ...(fastHappened ? [fastName] : [])];
          expect(happened, `asleep at call ${n}`).not.toEqual([]);
          const allowed = [await outcomeOf(...happened), await outcomeOf(...happened.toReversed())];
          expect(allowed, `asleep at call ${n}`).toContain(outcome);
          await open(cells).delete("t");
          await open(cells).delete("u");
          expect([...cells.keys()], `asleep at call ${n}`).toEqual([]);
        }
      });
    }
  });
}

const dying: Readonly<Record<string, Operation>> = {
  "the deletion of the thread": (adapter) => adapter.delete("t"),
  "a vacuum": (adapter) => adapter.vacuum({ keepLast: 1 }),
};

test.each(Object.entries(dying))(
  "a save that slept and %s that died leave nothing behind",
  async (_name, operation) => {
    const cells = new Map(prepared);
    let asleep = true;
    const sleeping = observed(new MapStorage(cells), async (call, key) => {
      if (!isCommit(call, key) || !asleep) return undefined;
      asleep = false;
      for (let number = 0; number < 3; number++) await operations["a save"]!(open(cells));
      await operation(new StorageBackendAdapter(dyingAfterFirstCommit(cells))).catch(() => undefined);
      expect(cells.size, "there is something left to do").toBeGreaterThan(LENGTH);
      return undefined;
    });
    expect(await happens(operations["a save"]!, new StorageBackendAdapter(sleeping))).toBe(false);
    await open(cells).delete("t");
    expect([...cells.keys()]).toEqual([]);
  },
);

test("a copy that was given up for lost while it slept starts again", async () => {
  const cells = new Map(prepared);
  let commits = 0;
  const sleeping = observed(new MapStorage(cells), async (call, key) => {
    if (isCommit(call, key) && ++commits === 2) {
      await expect(new StorageBackendAdapter(dyingAfterFirstCommit(cells)).delete("u")).rejects.toThrow("is gone");
    }
    return undefined;
  });
  expect(await new StorageBackendAdapter(sleeping).copyThread("t", "u")).toBe(true);
  expect(commits, "announced and refused, withdrawn, announced again and made").toBeGreaterThanOrEqual(4);
  await operations["a save"]!(open(cells));
  const { t, u } = await viewsOf(open(cells));
  expect(u).toHaveLength(t.length - 1);
  await open(cells).delete("t");
  await open(cells).delete("u");
  expect([...cells.keys()]).toEqual([]);
});

test("a copy whose source is deleted meanwhile takes back what it has copied", async () => {
  for (let n = 3; ; n++) {
    const cells = new Map(prepared);
    const process = sleeper(cells, n, async () => {
      await open(cells).delete("t");
    });
    const copied = await process.adapter.copyThread("t", "u");
    if (!process.slept()) break;
    if (copied) await open(cells).delete("u");
    expect([...cells.keys()], `asleep at call ${n}`).toEqual([]);
  }
});

const isCommit = (call: StorageCall, key: string): boolean =>
  call === "compareAndSave" && key.startsWith("holdfast-thread-");

/** Its last deed is the write that commits. */
function dyingAfterFirstCommit(cells: Map<string, string>): ReturnType<typeof observed> {
  let committed = false;
  return observed(new MapStorage(cells), (call, key) => {
    if (committed) throw new Error("the process is gone");
    committed = isCommit(call, key);
    return undefined;
  });
}
