import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { createKeyFile, fileKeys } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { faultInReceipts } from "../../src/session/receipts.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { Programs } from "../processes/programs.ts";
import { KEY } from "../session/people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-killed-sealing-"));
let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(async () => {
  await programs.dispose();
  await rm(folder, { recursive: true });
});

async function open(directory: string) {
  const keys = await openStore(`sqlite:${join(directory, "keys.db")}`);
  const ledger = await openStore(`sqlite:${join(directory, "ledger.db")}`);
  const options = { store: keys, provider: fileKeys(join(directory, "outer.key")), cacheMs: 0 };
  const ring = async () => Keyring.open(options);
  const sealing = new Sealing({ keyring: ring });
  const checkpointer = await openCheckpointer(`sqlite:${join(directory, "threads.db")}`, { sealing });
  const close = async () => {
    for (const each of [checkpointer, ledger, keys]) await each.close();
  };
  return { options, ring, checkpointer, ledger, close };
}

async function filled(name: string): Promise<string> {
  const directory = join(folder, name);
  await mkdir(directory);
  await createKeyFile(join(directory, "outer.key"));
  const { options, checkpointer, close } = await open(directory);
  await Keyring.create(options);
  for (const subject of ["ada", "bob"]) {
    const state = AgentState.create().withMessage(userMessage(`of ${subject}`, { metadata: { subject } }));
    await checkpointer.save(state, subject);
  }
  await close();
  return directory;
}

/** Runs the deed once for every moment at which it can be killed. */
async function atEveryMoment(deed: "rotate" | "erase", after: (directory: string, moment: number) => Promise<void>) {
  const source = await filled(deed);
  let moment = 1;
  for (let isKilled = true; isKilled; moment++) {
    const directory = join(folder, `${deed}-${moment}`);
    await cp(source, directory, { recursive: true });
    const end = await programs.start("sealing-program", [deed, directory, KEY, "ada", String(moment)]).ended();
    isKilled = end.signal === "SIGKILL";
    if (!isKilled) expect(end, `moment ${moment}`).toEqual({ code: 0, signal: null });
    await after(directory, moment);
    await rm(directory, { recursive: true });
  }
  return moment;
}

test("a rotation that is killed at any step is finished by calling it again, and every thread loads in between", async () => {
  const moments = await atEveryMoment("rotate", async (directory, moment) => {
    const { ring, checkpointer, close } = await open(directory);
    const texts = async () =>
      Promise.all(["ada", "bob"].map(async (id) => (await checkpointer.load(id))?.messages[0]?.content));
    expect(await texts(), `moment ${moment}`).toEqual(["of ada", "of bob"]);
    const report = await (await ring()).rotate({ graceMs: 0 });
    expect(report).toMatchObject({ retired: 0 });
    expect(await texts(), `moment ${moment}, finished`).toEqual(["of ada", "of bob"]);
    await close();
  });
  expect(moments).toBeGreaterThan(10);
});

test("an erasure by key that is killed at any step is finished by the next process that opens the backends", async () => {
  const moments = await atEveryMoment("erase", async (directory, moment) => {
    const { ring, checkpointer, ledger, close } = await open(directory);
    const data = new PersonalData({ checkpointers: [checkpointer], ledger, key: KEY });
    await data.open();
    if ((await data.receipts()).length === 0) {
      expect(moment, "killed before the tombstone was there").toBe(1);
      await data.eraseUser("ada");
    }
    const receipts = await data.receipts();
    expect(receipts.map(({ number }) => number)).toEqual([1]);
    expect(faultInReceipts(receipts, data.publicKey)).toBeUndefined();
    const people: string[] = [];
    for await (const page of (await ring()).people()) people.push(...page.map(({ subject }) => subject));
    expect(people, `moment ${moment}`).toEqual(["bob"]);
    expect((await checkpointer.load("ada"))?.messages[0]?.content).toBe("[erased]");
    expect((await checkpointer.load("bob"))?.messages[0]?.content).toBe("of bob");
    await close();
  });
  expect(moments).toBeGreaterThan(6);
});
