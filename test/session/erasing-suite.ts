import { expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { faultInReceipts } from "../../src/session/receipts.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { ERASED } from "../../src/state/people/subjects.ts";
import type { Store } from "../../src/store/store.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { UserStore } from "../../src/wiring/user-store.ts";
import { fillEveryField, missingIn, storable, storedText, Words, withBytes, wordsIn } from "./every-field.ts";
import { canary, fill, KEY, range, readableIn, readableTexts, userOf } from "./people.ts";
import type { StoredIn } from "./stored-in.ts";

/** Where a checkpointer, a store and user data are. */
export interface Backends {
  readonly checkpointer: Checkpointer;
  readonly store: Store;
  readonly users: string | Store;
  /** Where all of it lies, for storages on this disk. */
  readonly directory?: string;
  /** The same for servers. */
  readonly storedIn?: StoredIn;
  dispose(): Promise<void>;
}

export const openBackends = async (
  threads: string,
  items: string,
  users: string,
  directory?: string,
): Promise<Backends> => {
  const [checkpointer, store] = [await openCheckpointer(threads), await openStore(items)];
  const dispose = async () => {
    await checkpointer.close();
    await store.close();
  };
  return { checkpointer, store, users, ...(directory !== undefined && { directory }), dispose };
};

/** Threads only: items and user data lie in memory. */
export const threadsOnly = (checkpointer: Checkpointer, directory?: string): Backends => ({
  checkpointer,
  store: new InMemoryStore(),
  users: new InMemoryStore(),
  ...(directory !== undefined && { directory }),
  dispose: () => checkpointer.close(),
});

/** The one suite for every backend: some of the people are erased, and nothing of the others is. */
export function erases(create: () => Promise<Backends>, people: number, gone: number): void {
  test(`erasing ${gone} of ${people} people who share threads leaves no word of theirs, and every word of the others`, async () => {
    const { checkpointer, store, users: where, directory, dispose } = await create();
    const users = new UserStore({ backend: where });
    const usersStore = typeof where === "string" && where.startsWith("memory") ? new InMemoryStore() : where;
    const filled = typeof usersStore === "string" ? users : new UserStore({ backend: usersStore });
    const threads = await fill(checkpointer, store, filled, people);
    if (checkpointer.capabilities.search) await checkpointer.search(canary(0));
    const data = new PersonalData({
      checkpointers: [checkpointer],
      stores: [store],
      users: usersStore,
      ledger: new InMemoryStore(),
      key: KEY,
    });
    const before = await data.inventory(userOf(1));
    expect(new Set(before.places.map(({ kind }) => kind))).toEqual(new Set(["message", "field", "item", "user data"]));
    const dry = await data.eraseUser(userOf(1), { dryRun: true });
    expect(dry.places.map(({ messages }) => messages > 0)).toEqual([true, false, false]);
    expect(await data.inventory(userOf(1))).toEqual(before);
    for (const person of range(0, gone)) {
      const receipt = await data.eraseUser(userOf(person), { reason: "asked by mail" });
      expect(receipt.verified).toBe(true);
      expect(JSON.stringify(receipt)).not.toContain(userOf(person));
    }
    for (const person of range(0, gone)) expect((await data.inventory(userOf(person))).total).toBe(0);
    if (directory !== undefined) {
      expect(await readableIn(directory, range(0, gone))).toEqual([]);
      expect(await readableIn(directory, range(gone, people))).toEqual(range(gone, people));
    }
    if (checkpointer.capabilities.search) {
      expect(await checkpointer.search(canary(0))).toHaveLength(0);
      expect((await checkpointer.search(canary(gone))).length).toBeGreaterThan(0);
    }
    for (const threadId of threads) {
      for await (const { checkpointId } of checkpointer.history(threadId)) {
        const state = await checkpointer.load(threadId, checkpointId);
        const text = JSON.stringify(state?.toCheckpoint());
        expect(range(0, gone).filter((person) => text.includes(canary(person)))).toEqual([]);
      }
      const state = await checkpointer.load(threadId);
      if (state === undefined) throw new Error(`${threadId} is gone`);
      assertValidForOpenAI(state.messages);
      assertValidForAnthropic(state.messages);
      await checkpointer.save(state.withMessage(userMessage("And on it goes.")), threadId);
    }
    expect((await checkpointer.load("shared-0"))?.messages[0]?.content).toBe(ERASED);
    expect(await store.get(["facts"], "fact-0")).toBeUndefined();
    expect(await store.get(["mixed"], "mixed-0")).toMatchObject({ count: 0, about: { value: ERASED } });
    expect(await filled.get(userOf(0), "email")).toBeUndefined();
    expect(await filled.get(userOf(gone), "email")).toBe(`${canary(gone)}@example.com`);
    const receipts = await data.receipts();
    expect(receipts).toHaveLength(gone);
    expect(faultInReceipts(receipts, data.publicKey)).toBeUndefined();
    await users.close();
    await data.close();
    await dispose();
  });
}

/**
 * One person's words in every field that the rows know, in records of every kind, forks, copies, items and a graph. They
 * are all in the person's export, and none is stored any more after the erasure; those of others are.
 */
export function erasesEveryField(create: () => Promise<Backends>): void {
  test.each([
    ["a thread of the person's own", true],
    ["a thread that others share", false],
  ])("in every field of %s, a word is exported before and is nowhere after an erasure", async (_, own) => {
    const { checkpointer, store, directory, storedIn, dispose } = await create();
    const [ann, bob] = [new Words("ann"), new Words("bob")];
    await fillEveryField(checkpointer, store, ann, bob, own);
    const data = new PersonalData({
      checkpointers: [checkpointer],
      stores: [store],
      ledger: new InMemoryStore(),
      key: KEY,
    });
    const everything = async () =>
      `${await storedText(checkpointer)}\n${storable([...(await store.list([], { recursive: true, limit: 1000 }))])}`;
    expect(missingIn(await everything(), ann)).toEqual([]);
    const stored = async () => (storedIn === undefined ? [] : wordsIn(withBytes(await storedIn()), ann));
    // Some lie there in another form: in base64 within a text, or as a part of a name.
    if (storedIn !== undefined) expect((await stored()).length).toBeGreaterThan(ann.all.length * 0.8);
    let exported = "";
    for await (const line of data.exportUser("ann")) exported += withBytes(line);
    expect(missingIn(exported, ann)).toEqual([]);
    const receipt = await data.eraseUser("ann");
    expect(receipt).toMatchObject({ verified: true, unreached: [{ where: expect.stringMatching(/backups/) }] });
    expect((await data.inventory("ann")).total).toBe(0);
    expect(wordsIn(await everything(), ann)).toEqual([]);
    expect(missingIn(await everything(), bob)).toEqual([]);
    expect(await stored()).toEqual([]);
    if (directory !== undefined) expect(await readableTexts(directory, ann.all)).toEqual([]);
    if (checkpointer.capabilities.search) {
      for (const word of ann.all.slice(0, 20)) expect(await checkpointer.search(word)).toHaveLength(0);
    }
    for (const threadId of await checkpointer.listThreads({ limit: 100 })) {
      if (!threadId.startsWith("agent")) continue;
      for await (const { checkpointId } of checkpointer.history(threadId)) {
        const state = await checkpointer.load(threadId, checkpointId);
        assertValidForOpenAI(state?.messages ?? []);
        assertValidForAnthropic(state?.messages ?? []);
      }
      const state = await checkpointer.load(threadId);
      await checkpointer.save((state ?? AgentState.create()).withMessage(userMessage("On it goes.")), threadId);
    }
    await data.close();
    await dispose();
  });
}
