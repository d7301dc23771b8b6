import { expect } from "vitest";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { faultInReceipts } from "../../src/session/receipts.ts";
import { CoreUserStore } from "../../src/session/user-store.ts";
import { assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import type { Programs } from "../processes/programs.ts";
import { fill, KEY, range, userOf } from "./people.ts";

export const INTERRUPTED_PEOPLE = 4;

/** URLs of what an erasure goes through. */
export interface InterruptedPlace {
  readonly threads: string;
  readonly items: string;
  readonly ledger: string;
  /** Which of these people's words can be read in any file of the storage. */
  readonly readable?: (people: readonly number[]) => Promise<readonly number[]>;
  readonly dispose: () => Promise<void>;
}

/** User data lie in the store of items here. */
export async function fillPlace({ threads, items }: Pick<InterruptedPlace, "threads" | "items">): Promise<void> {
  const [checkpointer, store] = [await openCheckpointer(threads), await openStore(items)];
  await fill(checkpointer, store, new CoreUserStore(async () => store), INTERRUPTED_PEOPLE);
  await checkpointer.close();
  await store.close();
}

/** Kills an erasure at its first moment, at the `stride`-th after that, and so on to the end. Says how many moments it has. */
export async function killAtEveryStep(
  programs: Programs,
  filledPlace: (moment: number) => Promise<InterruptedPlace>,
  stride = 1,
): Promise<{ readonly moments: number; readonly kills: number }> {
  let [moment, kills] = [1, 0];
  for (let isKilled = true; isKilled; moment += stride) {
    const place = await filledPlace(moment);
    const { threads, items, ledger } = place;
    const args = [threads, items, ledger, KEY, userOf(0), String(moment)];
    const end = await programs.start("erasing-program", args).ended();
    isKilled = end.signal === "SIGKILL";
    if (isKilled) kills++;
    else expect(end, `moment ${moment}`).toEqual({ code: 0, signal: null });
    await assertFinished(place, moment);
    await place.dispose();
  }
  return { moments: moment - stride, kills };
}

/** The next process that opens the backends finds everything done. */
async function assertFinished(place: InterruptedPlace, moment: number): Promise<void> {
  const checkpointer = await openCheckpointer(place.threads);
  const [store, ledger] = [await openStore(place.items), await openStore(place.ledger)];
  const data = new PersonalData({ checkpointers: [checkpointer], stores: [store], ledger, key: KEY });
  await data.open();
  // Killed before the tombstone was written, the request to forget was lost.
  const asked = (await data.receipts()).length;
  if (asked === 0) await data.eraseUser(userOf(0));
  expect(asked === 1 || moment === 1, `moment ${moment}`).toBe(true);
  expect((await data.inventory(userOf(0))).total, `moment ${moment}`).toBe(0);
  const receipts = await data.receipts();
  expect(receipts.map(({ number }) => number)).toEqual([1]);
  expect(faultInReceipts(receipts, data.publicKey)).toBeUndefined();
  const others = range(1, INTERRUPTED_PEOPLE);
  for (const person of others) expect((await data.inventory(userOf(person))).total).toBeGreaterThan(0);
  if (place.readable !== undefined) {
    expect(await place.readable([0]), `moment ${moment}`).toEqual([]);
    expect(await place.readable(others)).toEqual(others);
  }
  for (const threadId of ["shared-0", "forked"]) {
    assertValidForOpenAI((await checkpointer.load(threadId))?.messages ?? []);
  }
  for (const each of [checkpointer, store, ledger]) await each.close();
}
