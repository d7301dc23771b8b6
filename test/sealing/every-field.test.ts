import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import type { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { fillEveryField, missingIn, storable, storedText, Words, wordsIn } from "../session/every-field.ts";
import { KEY, readableTexts } from "../session/people.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sealed-fields-"));
afterAll(() => rm(folder, { recursive: true }));

async function openAll(directory: string, keyring: Keyring) {
  const sealing = new Sealing({ keyring });
  const checkpointer = await openCheckpointer(`sqlite:${join(directory, "threads.db")}`, { sealing });
  const store = await openStore(`sqlite:${join(directory, "items.db")}`, { sealing });
  return {
    checkpointer,
    store,
    /** What opens with all keys that there are. */
    readable: async () =>
      `${await storedText(checkpointer)}\n${storable([...(await store.list([], { recursive: true, limit: 1000 }))])}`,
    close: async () => {
      await checkpointer.close();
      await store.close();
    },
  };
}

test.each([
  ["a thread of the person's own", true],
  ["a thread that others share", false],
])("of every field of %s, nothing opens from a backup once the person's key is destroyed", async (_, own) => {
  const { keyring } = await sampleKeyring({ cacheMs: 0 });
  const live = await mkdtemp(join(folder, "live-"));
  const backup = await mkdtemp(join(folder, "backup-"));
  const [ann, bob] = [new Words("ann"), new Words("bob")];
  const filled = await openAll(live, keyring);
  await fillEveryField(filled.checkpointer, filled.store, ann, bob, own, { sealed: true });
  expect(missingIn(await filled.readable(), ann)).toEqual([]);
  await filled.close();
  expect(await readableTexts(live, ann.all.concat(bob.all)), "everything is sealed").toEqual([]);
  await cp(live, backup, { recursive: true });
  const { checkpointer, store, close } = await openAll(live, keyring);
  const data = new PersonalData({
    checkpointers: [checkpointer],
    stores: [store],
    ledger: new InMemoryStore(),
    key: KEY,
  });
  expect(await data.eraseUser("ann")).toMatchObject({ verified: true });
  await close();
  const restored = await openAll(backup, keyring);
  const text = await restored.readable();
  expect(wordsIn(text, ann)).toEqual([]);
  expect(missingIn(text, bob)).toEqual([]);
  await restored.close();
});
