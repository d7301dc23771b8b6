import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { CoreUserStore } from "../../src/session/user-store.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { canary, fill, KEY, range, readableTexts, userOf } from "../session/people.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sealed-erasing-"));
afterAll(() => rm(folder, { recursive: true }));

/** `HOLDFAST_ERASE=200,50` makes it 50 of 200. */
const [PEOPLE = 8, ERASED = 2] = (process.env["HOLDFAST_ERASE"] ?? "").split(",").filter(Boolean).map(Number);
const GONE = range(0, ERASED);
const OTHERS = range(ERASED, PEOPLE);

async function openAll(directory: string, keyring: Keyring) {
  const sealing = new Sealing({ keyring });
  const checkpointer = await openCheckpointer(`sqlite:${join(directory, "threads.db")}`, { sealing });
  const store = await openStore(`sqlite:${join(directory, "items.db")}`, { sealing });
  const close = async () => {
    await checkpointer.close();
    await store.close();
  };
  return { checkpointer, store, close };
}

/** Whose words a reader with all of these keys can read, in anything that loads. */
async function readable(directory: string, keyring: Keyring, people: readonly number[]) {
  const { checkpointer, store, close } = await openAll(directory, keyring);
  const texts: string[] = [];
  for (const threadId of await checkpointer.listThreads({ limit: 1000 })) {
    for await (const { checkpointId, metadata } of checkpointer.history(threadId)) {
      const state = await checkpointer.load(threadId, checkpointId);
      texts.push(JSON.stringify([metadata, state?.toCheckpoint()]));
    }
  }
  for (const { value, metadata } of await store.list([], { recursive: true, limit: 1000 })) {
    texts.push(JSON.stringify([value, metadata]));
  }
  await close();
  const all = texts.join("\n");
  return people.filter((person) => all.includes(canary(person)));
}

describe("an erasure by key", () => {
  test(
    "a backup from before it, restored, with every key that still exists: nothing of the erased opens, the others load",
    async () => {
      const { keyring, options } = await sampleKeyring({ cacheMs: 0 });
      const live = join(folder, "live");
      const backup = join(folder, "backup");
      await cp(await mkdtemp(join(folder, "empty-")), live, { recursive: true });
      const filled = await openAll(live, keyring);
      const users = new CoreUserStore(async () => filled.store);
      // A graph's thread has the tenant's key alone: what a backup holds of it outlives the keys of people.
      await fill(filled.checkpointer, filled.store, users, PEOPLE, { inGraph: false });
      await filled.close();
      await cp(live, backup, { recursive: true });
      const words = range(0, PEOPLE).map(canary);
      expect(await readableTexts(backup, words), "the files of the backup").toEqual([]);
      expect(await readable(backup, keyring, range(0, PEOPLE)), "before").toEqual(range(0, PEOPLE));

      const opened = await openAll(live, keyring);
      const ledger = await openStore("memory:");
      const data = new PersonalData({ checkpointers: [opened.checkpointer], stores: [opened.store], ledger, key: KEY });
      for (const person of GONE) {
        const receipt = await data.eraseUser(userOf(person));
        expect(receipt.verified).toBe(true);
        expect(receipt.places.at(-1)).toMatchObject({ backend: "keys 1", keys: 1 });
        expect(JSON.stringify(receipt)).not.toContain(userOf(person));
      }
      expect((await data.inventory(userOf(GONE[0] ?? 0))).total).toBe(0);
      await opened.close();
      expect(await readable(live, keyring, range(0, PEOPLE)), "the live store").toEqual(OTHERS);
      const every = await Keyring.open(options);
      expect(await readable(backup, every, range(0, PEOPLE)), "the backup").toEqual(OTHERS);
      const restored = await openAll(backup, every);
      for (const threadId of await restored.checkpointer.listThreads({ limit: 1000 })) {
        expect(await restored.checkpointer.verify(threadId), threadId).toMatchObject({ faults: [] });
      }
      await restored.close();
    },
    process.env["HOLDFAST_ERASE"] ? 1_200_000 : 60_000,
  );

  test("a keyring that is brought back from a backup is brought up to the ledger before anything is read with it", async () => {
    const { keyring, options } = await sampleKeyring({ cacheMs: 0 });
    const checkpointer = await openCheckpointer("memory:", { sealing: new Sealing({ keyring }) });
    const about = { metadata: { subject: "ada" } };
    await checkpointer.save(AgentState.create().withMessage(userMessage("zebra", about)), "t");
    const [before] = await keyring.personKeys("", ["ada"]);
    const copy: { namespace: readonly string[]; key: string; value: unknown }[] = [];
    for (const item of await options.store.list([], { recursive: true })) copy.push(item);
    const ledger = await openStore("memory:");
    const data = new PersonalData({ checkpointers: [checkpointer], ledger, key: KEY });
    await data.eraseUser("ada");
    for (const { namespace, key, value } of copy) await options.store.put(namespace, key, value);
    const [{ id } = { id: "" }] = await keyring.personKeys("", ["ada"]);
    expect(id, "it is back").toBe(before?.id);
    await data.open();
    expect((await keyring.keysById([id])).get(id), "and gone again").toBeUndefined();
  });

  test("where process state is to be kept, the key is kept with it", async () => {
    const { keyring } = await sampleKeyring({ cacheMs: 0 });
    const checkpointer = await openCheckpointer("memory:", { sealing: new Sealing({ keyring }) });
    await checkpointer.save(
      AgentState.create().withMessage(userMessage("kept", { metadata: { subject: "ada" } })),
      "t",
    );
    const data = new PersonalData({ checkpointers: [checkpointer], ledger: await openStore("memory:"), key: KEY });
    const receipt = await data.eraseUser("ada", { process: "keep" });
    expect(receipt.places).toEqual([]);
    expect((await checkpointer.load("t"))?.messages[0]?.content).toBe("kept");
  });

  test("while anything else of an erasure fails, the key stays: it is needed to find the rest", async () => {
    const { keyring } = await sampleKeyring({ cacheMs: 0 });
    const checkpointer = await openCheckpointer("memory:", { sealing: new Sealing({ keyring }) });
    await checkpointer.save(
      AgentState.create().withMessage(userMessage("text", { metadata: { subject: "ada" } })),
      "t",
    );
    const broken = await openStore("memory:");
    const data = new PersonalData({
      checkpointers: [checkpointer],
      stores: [broken],
      ledger: await openStore("memory:"),
      key: KEY,
    });
    await broken.close();
    await expect(data.eraseUser("ada")).rejects.toMatchObject({ code: "CLOSED" });
    const people: string[] = [];
    for await (const page of keyring.people()) people.push(...page.map(({ subject }) => subject));
    expect(people).toEqual(["ada"]);
  });
});
