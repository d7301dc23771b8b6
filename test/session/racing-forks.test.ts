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

const folder = await mkdtemp(join(tmpdir(), "holdfast-racing-forks-"));
afterAll(() => rm(folder, { recursive: true }));

const BACKENDS: readonly (readonly [string, () => Promise<Checkpointer>])[] = [
  ["memory", async () => new MemoryCheckpointer()],
  ["sqlite", async () => openCheckpointer(`sqlite:${join(await mkdtemp(join(folder, "db-")), "a.db")}`)],
  ["file", async () => openCheckpointer(`file:${await mkdtemp(join(folder, "files-"))}`)],
];

const dataOn = (checkpointer: Checkpointer): PersonalData =>
  new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });

async function withAnn(checkpointer: Checkpointer, threadId: string): Promise<void> {
  const message = userMessage("Ann is here", { metadata: { subject: "ann" } });
  await checkpointer.save(AgentState.create().withMessage(message), threadId);
}

const threadsIn = (checkpointer: Checkpointer): Promise<readonly string[]> => checkpointer.listThreads({ limit: 1000 });

describe.each(BACKENDS)("on %s", (name, open) => {
  test("a fork, or a copy, that was read before an erasure and lands after its last look is taken back", async () => {
    for (const how of ["fork", "copyThread"] as const) {
      const checkpointer = await open();
      await withAnn(checkpointer, "t");
      const log = contextOf(checkpointer)?.log;
      if (log === undefined) throw new Error("it has no log");
      const [append, copy] = [log.append.bind(log), log.copy.bind(log)];
      let erased: Promise<unknown> = Promise.resolve();
      const afterErasure = async <T>(target: string, write: () => Promise<T>): Promise<T> => {
        if (target !== "late") return write();
        const receipt = dataOn(checkpointer).eraseUser("ann");
        erased = receipt;
        await receipt;
        return write();
      };
      log.append = (target, request) => afterErasure(target, () => append(target, request));
      // A copy is made in one go where the storage can; here its source is the thread as it was before.
      await checkpointer.fork("t", "before");
      log.copy = (_source, target, generation) => afterErasure(target, () => copy("before", target, generation));
      await expect(checkpointer[how]("t", "late")).rejects.toMatchObject({
        code: "CONFLICT",
        context: { written: "no" },
      });
      await erased;
      expect(await threadsIn(checkpointer)).not.toContain("late");
      await checkpointer[how]("t", "again");
      expect(JSON.stringify((await checkpointer.load("again"))?.messages)).not.toContain("Ann");
      await checkpointer.close();
    }
  });

  test("a fork whose process is killed between its write and its look holds nothing after the erasure is run again", async () => {
    const checkpointer = await open();
    await withAnn(checkpointer, "t");
    const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
    const log = contextOf(checkpointer)?.log;
    if (log === undefined) throw new Error("it has no log");
    const [append, tail] = [log.append.bind(log), log.tail.bind(log)];
    log.append = async (target, request) => {
      if (target !== "late") return append(target, request);
      await data.eraseUser("ann");
      // The look never comes.
      log.tail = () => Promise.reject(new Error("killed"));
      return append(target, request);
    };
    await expect(checkpointer.fork("t", "late")).rejects.toThrow();
    [log.append, log.tail] = [append, tail];
    const held = async (): Promise<string> => JSON.stringify((await checkpointer.load("late"))?.messages);
    expect(await held()).toContain("Ann");
    expect((await data.inventory("ann")).total).toBeGreaterThan(0);
    expect((await data.eraseUser("ann")).verified).toBe(true);
    expect(await held()).toContain("[erased]");
    for (const threadId of ["t", "late"]) {
      const records = (await log.readRecords(threadId, { limit: 100 }))?.records ?? [];
      for (const { body } of records) expect(Buffer.from(body).toString()).not.toContain("Ann");
    }
    await checkpointer.close();
  });

  // Each fork of files waits for the disk several times.
  test.skipIf(name === "file")(
    "forkers that never stop, of the thread and of its newest fork, keep nothing from an erasure",
    async () => {
      const checkpointer = await open();
      await withAnn(checkpointer, "t");
      const saver = saverOf(checkpointer);
      const note = attributed("ann", "Ann is here, in a graph");
      await saver.put({ threadId: "g", checkpointId: "1", checkpointData: { note } });
      let isStopped = false;
      let [made, refused, newest] = [0, 0, "t"];
      const attempt = async (make: (target: string) => Promise<unknown>, target: string): Promise<boolean> => {
        try {
          await make(target);
          made++;
          return true;
        } catch (error) {
          expect(error).toMatchObject({ code: "CONFLICT" });
          refused++;
          return false;
        }
      };
      // Bounded, so that a defect fails the test instead of filling the disk.
      const loop = async (step: (round: number) => Promise<unknown>): Promise<void> => {
        for (let round = 0; !isStopped && round < 2000; round++) {
          await step(round);
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      const forkers = [
        loop((round) => attempt((target) => checkpointer.fork("t", target), `fork-${round}`)),
        loop((round) => attempt((target) => saver.copyThread("g", target), `copy-${round}`)),
        loop(async (round) => {
          const target = `chain-${round}`;
          if (await attempt((name) => checkpointer.fork(newest, name), target)) newest = target;
        }),
      ];
      const data = dataOn(checkpointer);
      const receipt = await data.eraseUser("ann");
      isStopped = true;
      await Promise.all(forkers);
      expect(receipt.verified).toBe(true);
      expect(made).toBeGreaterThan(0);
      expect((await data.inventory("ann")).total).toBe(0);
      // Forks after the erasure are no longer held off.
      await checkpointer.fork("t", "after");
      console.log(`forks and copies: ${made} made, ${refused} refused`);
      await checkpointer.close();
    },
  );
});

test("an erasure that is killed while it holds copies and new threads off does so for its time and not for ever", async () => {
  let time = Date.parse("2030-01-01");
  const checkpointer = new MemoryCheckpointer({ now: () => time });
  await withAnn(checkpointer, "t");
  const { threadParty } = await import("../../src/session/parties.ts");
  await threadParty(checkpointer, "threads").holdOff?.(30_000);
  await expect(checkpointer.fork("t", "f")).rejects.toThrow(/a person is being erased.*Try again/);
  const about = async (subject: string): Promise<unknown> =>
    checkpointer.save(AgentState.create().withMessage(userMessage("Hi", { metadata: { subject } })), `of-${subject}`);
  await expect(about("bob")).rejects.toMatchObject({ code: "CONFLICT", context: { written: "no" } });
  expect(await checkpointer.load("of-bob")).toBeUndefined();
  await checkpointer.save(AgentState.create().withMessage(userMessage("Hi")), "of no one");
  time += 30_001;
  await checkpointer.fork("t", "f");
  await about("bob");
});
