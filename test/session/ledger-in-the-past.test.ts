import { describe, expect, test } from "vitest";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import type { BaseStore } from "../../src/store/base-store.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY } from "./people.ts";

const said = (subject: string): AgentState =>
  AgentState.create().withMessage(userMessage(`I am ${subject}`, { metadata: { subject } }));

/** Every item of a store, put into a new one: a backup, and what is restored from it. */
async function copyOf(store: BaseStore): Promise<InMemoryStore> {
  const copy = new InMemoryStore();
  for (const { namespace, key, value, metadata } of await store.list([], { recursive: true, limit: 1000 })) {
    await copy.put(namespace, key, value, { metadata, index: false });
  }
  return copy;
}

async function setUp() {
  const [checkpointer, store, ledger] = [new MemoryCheckpointer(), new InMemoryStore(), new InMemoryStore()];
  const dataWith = (books: BaseStore, items: BaseStore = store): PersonalData =>
    new PersonalData({ checkpointers: [checkpointer], stores: [items], ledger: books, key: KEY });
  for (const subject of ["ann", "bob", "cleo"]) {
    await checkpointer.save(said(subject), subject);
    await store.put(["notes"], subject, `about ${subject}`, { metadata: { subject } });
  }
  return { checkpointer, store, ledger, dataWith };
}

const numbersIn = async (ledger: BaseStore): Promise<readonly string[]> =>
  (await ledger.list(["holdfast:erasures", "tombstones"])).map(({ key }) => key);

describe("a ledger that went back in time is noticed by what the backends remember", () => {
  test("one that was rolled back: nothing is erased, no number is given, and nothing is opened", async () => {
    const { ledger, dataWith, store } = await setUp();
    await dataWith(ledger).eraseUser("ann");
    const old = await copyOf(ledger);
    await dataWith(ledger).eraseUser("bob");
    const before = await numbersIn(old);
    for (const work of [
      (data: PersonalData) => data.eraseUser("cleo"),
      (data: PersonalData) => data.resume(),
      (data: PersonalData) => data.open(),
    ]) {
      await expect(work(dataWith(old))).rejects.toMatchObject({
        code: "CORRUPT",
        message: expect.stringMatching(/ledger of erasures went back in time.*threads 1 knows erasure 2.*ends with 1/),
      });
    }
    expect(await numbersIn(old)).toEqual(before);
    expect(await store.get(["notes"], "cleo")).toBe("about cleo");
    expect((await dataWith(ledger).eraseUser("cleo")).number).toBe(3);
  });

  test("one that was rolled back and has given the number to another erasure since", async () => {
    const { ledger, dataWith } = await setUp();
    await dataWith(ledger).eraseUser("ann");
    const old = await copyOf(ledger);
    await dataWith(ledger).eraseUser("bob");
    // By a program that knew other backends only.
    const elsewhere = new PersonalData({ stores: [new InMemoryStore()], ledger: old, key: KEY });
    await elsewhere.eraseUser("cleo");
    await expect(dataWith(old).open()).rejects.toThrow(/threads 1 knows another erasure 2 than the ledger/);
  });

  test("one whose last tombstone and receipt were deleted, or its last receipt alone", async () => {
    const { ledger, dataWith } = await setUp();
    await dataWith(ledger).eraseUser("ann");
    await dataWith(ledger).eraseUser("bob");
    const last = "000000000002";
    await ledger.delete(["holdfast:erasures", "receipts"], last);
    await expect(dataWith(ledger).resume()).rejects.toThrow(/knows receipt 2, and the ledger ends with 1/);
    await ledger.delete(["holdfast:erasures", "tombstones"], last);
    await expect(dataWith(ledger).open()).rejects.toThrow(/knows erasure 2, and the ledger ends with 1/);
  });

  test("one with an entry that was changed", async () => {
    const { ledger, dataWith } = await setUp();
    await dataWith(ledger).eraseUser("ann");
    await dataWith(ledger).eraseUser("bob");
    const namespace = ["holdfast:erasures", "tombstones"];
    const first = await ledger.get<{ readonly subject: string }>(namespace, "000000000001");
    await ledger.put(namespace, "000000000001", { ...first, subject: "another" }, { index: false });
    await expect(dataWith(ledger).open()).rejects.toThrow(/entry 2 of the ledger.*was not made after/);
  });

  test("where there is no newer copy, it goes on when that is accepted: no number is given twice, and all of it agrees again", async () => {
    const { ledger, dataWith } = await setUp();
    const ann = await dataWith(ledger).eraseUser("ann");
    const old = await copyOf(ledger);
    const lost = await dataWith(ledger).eraseUser("bob");
    await dataWith(old).resume({ acceptLostErasures: true });
    const cleo = await dataWith(old).eraseUser("cleo");
    expect([ann.number, lost.number]).toEqual([1, 2]);
    expect(cleo.number).toBeGreaterThan(2);
    expect(cleo.verified).toBe(true);
    await dataWith(old).open();
    expect((await dataWith(old).inventory("ann")).total).toBe(0);
    // The newer copy turns up after all: then it is the one that lacks something.
    await expect(dataWith(ledger).open()).rejects.toThrow(/went back in time/);
  });
});

test("a backend that is older than the ledger is erased again, and the process that opens it is told", async () => {
  const { ledger, dataWith, store } = await setUp();
  const backup = await copyOf(store);
  await dataWith(ledger).eraseUser("ann");
  const { replayed } = await dataWith(ledger, backup).open();
  expect(replayed).toMatchObject([{ backend: "store 1", knewUpTo: 0, upTo: 1, erased: { items: 1 } }]);
  expect(await backup.get(["notes"], "ann")).toBeUndefined();
  expect((await dataWith(ledger, backup).open()).replayed).toEqual([]);
});
