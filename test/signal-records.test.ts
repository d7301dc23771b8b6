import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore, MemoryCheckpointer } from "../src/backends/memory/index.ts";
import { MemoryLog } from "../src/backends/memory/log.ts";
import { openCheckpointer } from "../src/backends/open.ts";
import { BaseCheckpointer } from "../src/checkpoint/base-checkpointer.ts";
import { capabilities } from "../src/checkpoint/capabilities.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { contextOf } from "../src/checkpoint/context.ts";
import { REMEMBERED_MS } from "../src/checkpoint/signals/mailbox.ts";
import { saverOf } from "../src/saver/checkpoint-saver.ts";
import { Keyring } from "../src/sealing/keys/keyring.ts";
import { Sealing } from "../src/sealing/sealing.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import { redactSecrets } from "../src/state/secrets.ts";
import { PersonalData } from "../src/wiring/personal-data.ts";
import { sampleKeyring } from "./sealing/sample-keyring.ts";
import { KEY } from "./session/people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-signals-"));
afterAll(() => rm(folder, { recursive: true }));

const said = (text: string) => AgentState.create().withMessage(userMessage(text));

/** Everything that any record of the thread holds, as text. */
async function storedIn(checkpointer: Checkpointer): Promise<string> {
  const chain = await contextOf(checkpointer)?.log.readRecords("t", { limit: 1000 });
  return (chain?.records ?? []).map(({ body, header, words }) => `${Buffer.from(body)}${header}${words}`).join("\n");
}

const ofAnn = (text: string) => userMessage(text, { metadata: { subject: "ann" } });

async function fill(checkpointer: Checkpointer): Promise<void> {
  await checkpointer.save(said("no one's").withMessage(ofAnn("ann's first")), "t");
  await checkpointer.send("t", { message: ofAnn("ann's secret") }, { id: "one" });
  await checkpointer.send("t", { message: "bob's words" }, { id: "two" });
  await checkpointer.send("t", { answer: { id: "c/1", response: "ann's answer" } }, { id: "three" });
  await checkpointer.send("t", { cancel: "ann asked for it" }, { id: "four" });
}

describe("people", () => {
  test("what waits in a mailbox is exported, and erased with the person; what is left is still a signal", async () => {
    const checkpointer = new MemoryCheckpointer();
    await fill(checkpointer);
    const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
    let exported = "";
    for await (const part of data.exportUser("ann")) exported += part;
    expect(exported).toContain("ann's secret");
    expect(exported).not.toContain("bob's words");
    await data.eraseUser("ann");
    const stored = await storedIn(checkpointer);
    // An answer or a reason that names no owner may quote anyone in the thread.
    expect(stored).not.toMatch(/ann's|ann asked/);
    expect(stored).toContain("bob's words");
    const waiting = await checkpointer.signals("t");
    expect(waiting.map(({ id }) => id)).toEqual(["one", "two", "three", "four"]);
    expect(waiting[0]).toMatchObject({ kind: "message", message: { metadata: { erased: true } } });
    expect((await checkpointer.verify("t"))?.faults).toEqual([]);
    const state = (await checkpointer.load("t")) as AgentState;
    await checkpointer.save(state.withMessage(userMessage("on")), "t", { consumes: ["one", "three"] });
    expect((await checkpointer.signals("t")).map(({ id }) => id)).toEqual(["two", "four"]);
  });

  test("under sealing, a destroyed key takes a person's words from the mailbox, and the others' can be read", async () => {
    const { keyring, options } = await sampleKeyring({ cacheMs: 0 });
    const path = join(folder, "sealed.db");
    const checkpointer = await openCheckpointer(`sqlite:${path}`, { sealing: new Sealing({ keyring }) });
    await fill(checkpointer);
    const bare = await openCheckpointer(`sqlite:${path}`);
    expect(await storedIn(bare)).not.toMatch(/secret|words|asked/);
    expect(await checkpointer.signals("t")).toMatchObject([{ message: { content: "ann's secret" } }, {}, {}, {}]);
    const state = (await checkpointer.load("t")) as AgentState;
    await checkpointer.save(state.withMessage(userMessage("on")), "t", { consumes: ["four"] });
    for await (const people of keyring.people()) for (const { token } of people) await keyring.destroy(token);
    const again = await openCheckpointer(`sqlite:${path}`, {
      sealing: new Sealing({ keyring: await Keyring.open(options) }),
    });
    const waiting = await again.signals("t");
    expect(waiting).toMatchObject([
      { id: "one", message: { metadata: { erased: true } } },
      { id: "two" },
      { id: "three" },
    ]);
    expect(JSON.stringify(waiting)).not.toContain("ann's secret");
    expect(JSON.stringify(waiting)).toContain("bob's words");
    for (const each of [checkpointer, bare, again]) await each.close();
  });

  test("a redactor is given what is sent before it is written, but for ids and kinds", async () => {
    const checkpointer = new MemoryCheckpointer({ redact: redactSecrets });
    await checkpointer.save(said("hello"), "t");
    const key = `sk-${"a1B2".repeat(12)}`;
    await checkpointer.send("t", { message: `my key is ${key}` }, { id: "one" });
    await checkpointer.send("t", { answer: { id: "c/1", response: { key } } }, { id: "two" });
    await checkpointer.send("t", { cancel: `not with ${key}` }, { id: "three" });
    expect(await storedIn(checkpointer)).not.toContain(key);
    expect((await checkpointer.signals("t")).map(({ id, kind }) => [id, kind])).toEqual([
      ["one", "message"],
      ["two", "answers"],
      ["three", "cancel"],
    ]);
  });
});

test("a message with an id of its own is a signal of that id: sent again, it is the same one", async () => {
  const checkpointer = new MemoryCheckpointer();
  await checkpointer.save(said("hello"), "t");
  const message = userMessage("words", { id: "mine" });
  expect(await checkpointer.send("t", { message })).toEqual({ id: "mine", isRepeated: false });
  expect(await checkpointer.send("t", { message })).toEqual({ id: "mine", isRepeated: true });
  await expect(checkpointer.send("t", { message }, { id: "another" })).rejects.toThrow(/two ids were given/);
});

describe("other work on the thread", () => {
  test("a search finds what was sent once it is in a checkpoint, and not before", async () => {
    for (const url of ["memory:", `sqlite:${join(folder, "words.db")}`]) {
      const checkpointer = await openCheckpointer(url);
      await checkpointer.save(said("hello"), "t");
      await checkpointer.send("t", { message: "pomegranate" }, { id: "one" });
      expect(await checkpointer.search("pomegranate"), url).toHaveLength(0);
      const state = (await checkpointer.load("t")) as AgentState;
      await checkpointer.save(state.withMessage(userMessage("pomegranate")), "t", { consumes: ["one"] });
      expect(await checkpointer.search("pomegranate"), url).toHaveLength(1);
      await checkpointer.close();
    }
  });

  test("deletions, a vacuum, a lease that comes and goes: what waits still waits, and every checkpoint loads", async () => {
    const checkpointer = new MemoryCheckpointer();
    let state = said("1");
    const ids = [await checkpointer.save(state, "t")];
    for (const text of ["2", "3", "4"]) {
      state = state.withMessage(userMessage(text));
      ids.push(await checkpointer.save(state, "t"));
    }
    await checkpointer.send("t", { message: "one" }, { id: "one" });
    await checkpointer.withLease("t", async () => undefined);
    await checkpointer.send("t", { message: "two" }, { id: "two" });
    expect(await checkpointer.delete("t", { checkpointId: ids[3] as string })).toBe(true);
    expect(await checkpointer.delete("t", { checkpointId: ids[1] as string })).toBe(true);
    await checkpointer.vacuum({ keepLast: 1 });
    expect((await checkpointer.signals("t")).map(({ id }) => id)).toEqual(["one", "two"]);
    expect((await checkpointer.verify("t"))?.faults).toEqual([]);
    const left = (await checkpointer.load("t")) as AgentState;
    expect(left.messages).toHaveLength(3);
    await checkpointer.save(left.withMessage(userMessage("on")), "t", { consumes: ["one", "two"] });
    expect(await checkpointer.signals("t")).toEqual([]);
    expect((await contextOf(checkpointer)?.log.readRecords("t", { limit: 100 }))?.records).toHaveLength(2);
  });

  test("a vacuum leaves a thread that something was sent to since, and takes it when that is old too", async () => {
    let now = Date.UTC(2026, 0, 1);
    const checkpointer = new MemoryCheckpointer({ now: () => now });
    await checkpointer.save(said("old"), "t");
    now += 10 * 86_400_000;
    await checkpointer.send("t", { message: "words" });
    expect(await checkpointer.vacuum({ olderThanDays: 5 })).toMatchObject({ threads: 0 });
    expect(await checkpointer.signals("t")).toHaveLength(1);
    now += 10 * 86_400_000;
    expect(await checkpointer.vacuum({ olderThanDays: 5 })).toMatchObject({ threads: 1 });
    await expect(checkpointer.send("t", { message: "late" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("ids are remembered for a day, and then leave the facts of the thread with its next save", async () => {
    let now = Date.UTC(2026, 0, 1);
    const checkpointer = new MemoryCheckpointer({ now: () => now });
    let state = said("1");
    await checkpointer.save(state, "t");
    await checkpointer.send("t", { message: "words" }, { id: "one" });
    state = state.withMessage(userMessage("2"));
    await checkpointer.save(state, "t", { consumes: ["one"] });
    now += REMEMBERED_MS - 1;
    expect((await checkpointer.send("t", { message: "words" }, { id: "one" })).isRepeated).toBe(true);
    now += 2;
    state = state.withMessage(userMessage("3"));
    await checkpointer.save(state, "t");
    expect(await storedIn(checkpointer)).toMatch(/"messages":3[^}]*}(?!.*"mail")/);
    expect((await checkpointer.send("t", { message: "words" }, { id: "one" })).isRepeated).toBe(false);
  });

  test("a process with a fast clock forgets no id early where the storage has a clock", async () => {
    const clock = { now: () => Date.UTC(2026, 0, 1) };
    class WithClock extends MemoryLog {
      override readonly capabilities = { ...new MemoryLog().capabilities, clock: true };
      override now = async (): Promise<number> => clock.now();
    }
    const log = new WithClock();
    const slow = new Checkpointer(log, clock);
    const fast = new Checkpointer(log, { now: () => clock.now() + 2 * REMEMBERED_MS });
    await slow.save(said("1"), "t");
    await slow.send("t", { message: "words" }, { id: "one" });
    await slow.save(((await slow.load("t")) as AgentState).withMessage(userMessage("2")), "t", { consumes: ["one"] });
    await fast.save(((await fast.load("t")) as AgentState).withMessage(userMessage("3")), "t");
    expect((await slow.send("t", { message: "words" }, { id: "one" })).isRepeated).toBe(true);
  });

  test("a graph's thread, and a checkpointer that compares no heads, refuse what is sent", async () => {
    const checkpointer = new MemoryCheckpointer();
    const saver = saverOf(checkpointer);
    await saver.put({ threadId: "graph", checkpointId: "1", checkpointData: {} });
    await expect(checkpointer.send("graph", { cancel: true })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    class Plain extends BaseCheckpointer {
      readonly capabilities = capabilities({});
      async save(): Promise<string> {
        return "c1";
      }
      async load(): Promise<undefined> {
        return undefined;
      }
      async listCheckpoints() {
        return [];
      }
      async delete(): Promise<boolean> {
        return false;
      }
    }
    for (const method of ["send", "signals"] as const) {
      const refused = new Plain()[method]("t", { cancel: true });
      await expect(refused).rejects.toMatchObject({ code: "UNSUPPORTED", context: { capability: "conditionalSave" } });
    }
  });
});
