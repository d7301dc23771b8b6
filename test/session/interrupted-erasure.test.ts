import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/backends/open-store.ts";
import { faultInReceipts } from "../../src/session/receipts.ts";
import { CoreUserStore } from "../../src/session/user-store.ts";
import { assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { DISK_BACKENDS, openOnDisk } from "../processes/disk-backends.ts";
import { Programs } from "../processes/programs.ts";
import { fill, KEY, range, readableIn, userOf } from "./people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-interrupted-erasure-"));
let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
}, 120_000);
afterAll(async () => {
  await programs.dispose();
  await rm(folder, { recursive: true });
});

const PEOPLE = 4;
const OTHERS = range(1, PEOPLE);

/** Fills a directory; user data lie in the store of items here. */
async function filled(backend: (typeof DISK_BACKENDS)[number]): Promise<string> {
  const directory = await mkdtemp(join(folder, "filled-"));
  const checkpointer = await openOnDisk(backend, directory);
  const store = await openStore(`sqlite:${join(directory, "items.db")}`);
  await fill(checkpointer, store, new CoreUserStore(async () => store), PEOPLE);
  await checkpointer.close();
  await store.close();
  return directory;
}

describe.each(DISK_BACKENDS)("4: on %s", (backend) => {
  test("4: an erasure that is killed at any step is finished by whoever opens the backends next", async () => {
    const source = await filled(backend);
    let moment = 1;
    for (let isKilled = true; isKilled; moment++) {
      const directory = join(folder, `${backend}-${moment}`);
      await cp(source, directory, { recursive: true });
      const end = await programs.start("erasing-program", [backend, directory, KEY, userOf(0), String(moment)]).ended();
      isKilled = end.signal === "SIGKILL";
      if (!isKilled) expect(end, `moment ${moment}`).toEqual({ code: 0, signal: null });
      const checkpointer = await openOnDisk(backend, directory);
      const [store, ledger] = [
        await openStore(`sqlite:${join(directory, "items.db")}`),
        await openStore(`sqlite:${join(directory, "ledger.db")}`),
      ];
      const data = new PersonalData({ checkpointers: [checkpointer], stores: [store], ledger, key: KEY });
      await data.open();
      // Killed before the tombstone was there, nobody was asked to forget anybody.
      const asked = (await data.receipts()).length;
      if (asked === 0) await data.eraseUser(userOf(0));
      expect(asked === 1 || moment === 1, `moment ${moment}`).toBe(true);
      expect((await data.inventory(userOf(0))).total).toBe(0);
      const receipts = await data.receipts();
      expect(receipts.map(({ number }) => number)).toEqual([1]);
      expect(faultInReceipts(receipts, data.publicKey)).toBeUndefined();
      expect(await readableIn(directory, [0]), `moment ${moment}`).toEqual([]);
      expect(await readableIn(directory, OTHERS)).toEqual(OTHERS);
      for (const threadId of ["shared-0", "forked"]) {
        assertValidForOpenAI((await checkpointer.load(threadId))?.messages ?? []);
      }
      for (const each of [checkpointer, store, ledger]) await each.close();
      await rm(directory, { recursive: true });
    }
    expect(moment).toBeGreaterThan(10);
  }, 240_000);

  test("4: a restored backup is cleaned before anybody gets it, and what came after the erasure stays", async () => {
    const directory = await filled(backend);
    const backup = join(folder, `${backend}-backup`);
    await cp(directory, backup, { recursive: true });
    const ledger = await openStore(`sqlite:${join(folder, `${backend}-ledger.db`)}`);
    const items = (place: string): string => `sqlite:${join(place, "items.db")}`;
    const live = await openOnDisk(backend, directory);
    const data = new PersonalData({ checkpointers: [live], stores: [items(directory)], ledger, key: KEY });
    await data.eraseUser(userOf(0));
    await data.eraseUser(userOf(1), { process: "keep" });
    await data.close();
    await live.close();
    expect(await readableIn(backup, [0, 1])).toEqual([0, 1]);

    const restored = await openOnDisk(backend, backup);
    const later = new PersonalData({ checkpointers: [restored], stores: [items(backup)], ledger, key: KEY });
    const { stores } = await later.open();
    expect(await readableIn(backup, [0])).toEqual([]);
    expect(await readableIn(backup, [2, 3])).toEqual([2, 3]);
    const left = await later.inventory(userOf(1));
    expect(new Set(left.places.map(({ backend: place }) => place))).toEqual(new Set(["threads 1"]));
    expect(await later.receipts()).toHaveLength(2);

    const users = new CoreUserStore(async () => stores[0] as never);
    await users.set(userOf(0), "email", "back@example.com");
    await later.open();
    expect(await users.get(userOf(0), "email")).toBe("back@example.com");
    await later.close();
    await restored.close();
    await ledger.close();
  }, 120_000);
});
