import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY } from "../session/people.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const PEOPLE = ["ada", "bob", "cem"];
const LOST = { code: "PERMISSION_DENIED", message: expect.stringContaining("not in the keyring") };

/** Threads and items of three people, and a keyring without the key of one of them: an older copy of it has all others. */
async function withoutKeyOfBob() {
  const { keyring, options } = await sampleKeyring();
  const log = new MemoryLog();
  const driver = accessOf(new InMemoryStore())?.driver;
  if (driver === undefined) throw new Error("no driver");
  const places = (ring: Keyring) => {
    const sealing = new Sealing({ keyring: ring });
    const store = new InMemoryStore({ sealing: { overStore: () => sealing.overStore(driver) } });
    return { checkpointer: new Checkpointer(log, { sealing }), store };
  };
  const before = places(keyring);
  for (const subject of PEOPLE) {
    const state = AgentState.create({ metadata: { subject } }).withMessage(userMessage(`zebra of ${subject}`));
    await before.checkpointer.save(state, subject, { metadata: { colour: "green" } });
    await before.store.put(["notes"], subject, { text: `zebra of ${subject}` }, { metadata: { subject } });
  }
  const [, bob] = await keyring.personKeys("", PEOPLE);
  await options.store.delete(["holdfast:keys", "people"], bob?.id.split(".")[0] ?? "");
  const after = places(await Keyring.open(options));
  const ledger = new InMemoryStore();
  const data = new PersonalData({ checkpointers: [after.checkpointer], stores: [after.store], ledger, key: KEY });
  return { ...after, data };
}

test("a person's lost key is an error for what it sealed, and everyone else's threads are listed, found and vacuumed", async () => {
  const { checkpointer, store } = await withoutKeyOfBob();
  await expect(checkpointer.load("bob")).rejects.toMatchObject(LOST);
  await expect(store.get(["notes"], "bob")).rejects.toMatchObject(LOST);
  expect((await checkpointer.listThreads()).map(String).sort()).toEqual(PEOPLE);

  const found = await checkpointer.search("zebra");
  expect(found.map(({ threadId }) => threadId).sort()).toEqual(["ada", "cem"]);
  expect(found.warnings).toMatchObject([{ threadId: "bob", ...LOST }]);
  const green = await checkpointer.queryByMetadata("colour", "green");
  expect(green.map(({ threadId }) => threadId).sort()).toEqual(["ada", "cem"]);
  const report = await checkpointer.vacuum({ olderThanDays: 1, dryRun: true });
  expect(report).toMatchObject({ skipped: 1, warnings: [{ threadId: "bob", ...LOST }] });

  const items = await store.list(["notes"]);
  expect(items.map(({ key }) => key)).toEqual(["ada", "cem"]);
  expect(items.warnings).toMatchObject([LOST]);
  expect((await store.search(["notes"], { query: "zebra" })).map(({ key }) => key).sort()).toEqual(["ada", "cem"]);
});

test("beside a person's lost key others are held, exported and erased; an erasure reports the key, and may accept the loss", async () => {
  const { checkpointer, data } = await withoutKeyOfBob();
  const hold = await data.placeHold({ subject: "cem", reason: "case 17", by: "counsel" });
  await data.liftHold(hold.id, { reason: "closed", by: "counsel" });
  const lines: string[] = [];
  const exported = (async () => {
    for await (const line of data.exportUser("ada")) lines.push(line);
  })();
  await expect(exported, "an export that may lack something says so").rejects.toMatchObject({
    message: expect.stringContaining("not whole"),
  });
  expect(lines.join(), "what can be read of every backend is in it").toMatch(/threads 1.*store 1/s);
  await expect(data.eraseUser("ada")).rejects.toMatchObject(LOST);
  const [receipt] = await data.resume({ acceptUnreached: true });
  expect(receipt).toMatchObject({ verified: false, places: [{}, {}, { keys: 1 }] });
  expect((await checkpointer.load("ada"))?.messages[0]?.content).toBe("[erased]");
  await expect(checkpointer.load("bob"), "is still there for a keyring that has the key").rejects.toMatchObject(LOST);
  expect(await checkpointer.delete("bob"), "but can be deleted").toBe(true);
});
