import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { attributed } from "../../src/state/people/subjects.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY } from "./people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-subject-index-"));
afterAll(() => rm(folder, { recursive: true }));

const BACKENDS: readonly (readonly [string, () => Promise<Checkpointer>])[] = [
  ["memory", async () => new MemoryCheckpointer()],
  ["sqlite", async () => openCheckpointer(`sqlite:${join(await mkdtemp(join(folder, "db-")), "a.db")}`)],
];

const said = (subject: string): AgentState =>
  AgentState.create().withMessage(userMessage(`I am ${subject}`, { metadata: { subject } }));

/** Which threads were read since the last time. */
function readsOf(checkpointer: Checkpointer): () => readonly string[] {
  const log = contextOf(checkpointer)?.log;
  if (log === undefined) throw new Error("it has no log");
  let threads: string[] = [];
  const readRecords = log.readRecords.bind(log);
  log.readRecords = (threadId, options) => {
    threads.push(threadId);
    return readRecords(threadId, options);
  };
  const readThreads = log.readThreads.bind(log);
  log.readThreads = async (options) => {
    const page = await readThreads(options);
    for (const { threadId, records } of page.items)
      if (threadId !== undefined && records !== undefined) threads.push(threadId);
    return page;
  };
  return () => {
    const found = [...new Set(threads)].filter((threadId) => !threadId.startsWith("holdfast:"));
    threads = [];
    return found.toSorted();
  };
}

describe.each(BACKENDS)("on %s", (_, open) => {
  test("a look reads the threads that changed and those that may hold something, and no others", async () => {
    const checkpointer = await open();
    const people = ["ann", "bob", "cat", "dan"];
    for (const person of people) await checkpointer.save(said(person), `of-${person}`);
    const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
    const reads = readsOf(checkpointer);
    expect((await data.inventory("absent")).total).toBe(0);
    expect(reads()).toEqual(people.map((person) => `of-${person}`));
    expect((await data.inventory("bob")).places.map(({ where }) => where)).toEqual(["of-bob"]);
    expect(reads()).toEqual(["of-bob"]);
    await data.eraseUser("cat");
    expect(reads()).toEqual(["of-bob", "of-cat"]);
    expect((await data.inventory("cat")).total).toBe(0);
    expect(reads()).toEqual([]);
    await checkpointer.close();
  });

  test("whatever comes into a thread after it was looked through is found, however it comes", async () => {
    const checkpointer = await open();
    const saver = saverOf(checkpointer);
    await checkpointer.save(said("bob"), "t");
    await checkpointer.save(said("bob"), "anew");
    await checkpointer.save(said("bob"), "gone");
    await checkpointer.save(said("ann"), "source");
    await saver.put({ threadId: "g", checkpointId: "1", checkpointData: { a: 1 } });
    const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
    expect((await data.inventory("ann")).places.map(({ where }) => where)).toEqual(["source"]);
    const loaded = await checkpointer.load("t");
    await checkpointer.save((loaded ?? said("bob")).withMetadata({ note: attributed("ann", "Ann") }), "t");
    await checkpointer.delete("anew");
    await checkpointer.save(said("ann"), "anew");
    await checkpointer.delete("gone");
    await checkpointer.fork("source", "fork");
    await checkpointer.copyThread("source", "copy");
    await saver.putWrites({
      threadId: "g",
      checkpointId: "1",
      taskId: "task",
      writes: [["channel", attributed("ann", "Ann")]],
    });
    const found = new Set((await data.inventory("ann")).places.map(({ where }) => where));
    expect(found).toEqual(new Set(["anew", "copy", "fork", "g", "source", "t"]));
    await data.eraseUser("ann");
    expect((await data.inventory("ann")).total).toBe(0);
    const fresh = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
    expect((await fresh.inventory("ann")).total).toBe(0);
    expect((await fresh.inventory("bob")).places.map(({ where }) => where)).toEqual(["t"]);
    await checkpointer.close();
  });
});

test("a thread that a backup put back is read again, although it has as many records as it had", async () => {
  const checkpointer = new MemoryCheckpointer();
  await checkpointer.save(said("ann"), "live");
  await checkpointer.copyThread("live", "backup");
  const ledger = new InMemoryStore();
  const data = new PersonalData({ checkpointers: [checkpointer], ledger, key: KEY });
  await data.eraseUser("ann");
  expect((await data.inventory("ann")).total).toBe(0);
  // What a restore does to one thread: the old records under the old id.
  const log = contextOf(checkpointer)?.log;
  await checkpointer.delete("live");
  const state = said("ann");
  await checkpointer.save(state, "live");
  await checkpointer.save(state.withMetadata({ step: 2 }), "live");
  expect((await log?.tail("live"))?.entry.seq).toBe(2);
  expect((await data.inventory("ann")).places.map(({ where }) => where)).toContain("live");
});
