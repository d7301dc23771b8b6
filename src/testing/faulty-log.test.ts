import assert from "node:assert/strict";
import { describe, expect, test } from "vitest";
import { MemoryLog } from "../backends/memory/log.ts";
import { uncheckedHead } from "../checkpoint/base-checkpointer.ts";
import { Checkpointer } from "../checkpoint/checkpointer.ts";
import type { Lease } from "../checkpoint/lease/lease.ts";
import { StateError } from "../errors.ts";
import { and, conversation, historyOf, loaded, textsOf } from "./checkpointer-cases/conversations.ts";
import { checkpointerSuite } from "./checkpointer-cases/suite.ts";
import { atCall, type Fault, FaultyLog, InjectedFault } from "./faulty-log.ts";
import { type ManualClock, manualClock } from "./manual-clock.ts";
import { runCase } from "./run-case.ts";
import { threadLogSuite } from "./thread-log-cases/suite.ts";

const MINUTE = 60_000;

/** Repeats the very same call after a failure that allows it, as a program would. */
async function repeated<T>(clock: ManualClock, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!StateError.is(error) || attempt > 3) throw error;
      // A lease that was granted or given back without an answer has no holder until it runs out.
      if (error.code === "CONFLICT" && error.message.includes("leased to")) clock.advance(MINUTE);
      else if (!error.retryable) throw error;
    }
  }
}

/** Every kind of write on one thread. In the end it holds 9 messages, and checkpoints of 9, 8, 7, 6 and 5. */
async function liveThrough(checkpointer: Checkpointer, clock: ManualClock): Promise<void> {
  const again = <T>(call: () => Promise<T>): Promise<T> => repeated(clock, call);
  let state = conversation(1);
  await again(() => checkpointer.save(state, "t", { checkpointId: "first" }));
  state = and(state, "message 2");
  await again(() => checkpointer.save(state, "t"));
  state = and(state, "message 3");
  await again(() => checkpointer.save(state, "t", { checkpointId: "third" }));
  state = and(await again(() => loaded(checkpointer, "t")), "message 4");
  await again(() => checkpointer.save(state, "t", { checkpointId: "first" }));
  await again(() => checkpointer.delete("t", { checkpointId: "third" }));
  state = and(state, "message 5");
  await again(() => checkpointer.save(state, "t", { checkpointId: "fifth" }));
  const sixth = conversation(6);
  await again(() => checkpointer.save(sixth, "t", { expectedHead: "fifth" }));
  const seventh = conversation(7);
  await again(() => checkpointer.save(seventh, "t", { expectedHead: uncheckedHead }));
  const eighth = and(seventh, "message 8");
  const work = (lease: Lease): Promise<string> => checkpointer.save(eighth, "t", { lease });
  await again(() => checkpointer.withLease("t", work, { ttlMs: MINUTE }));
  await again(() => checkpointer.vacuum({ keepLast: 4 }));
  const ninth = and(eighth, "message 9");
  await again(() => checkpointer.save(ninth, "t", { checkpointId: "last" }));
}

async function assertLivedThrough(log: MemoryLog, what: string): Promise<void> {
  const checkpointer = new Checkpointer(log);
  assert.deepEqual(textsOf(await loaded(checkpointer, "t")), textsOf(conversation(9)), `${what}: the messages`);
  const counts: number[] = [];
  for (const checkpointId of await historyOf(checkpointer, "t")) {
    const state = await loaded(checkpointer, "t", { checkpointId });
    assert.deepEqual(textsOf(state), textsOf(conversation(state.messages.length)), `${what}: ${checkpointId}`);
    counts.push(state.messages.length);
  }
  assert.deepEqual(counts, [9, 8, 7, 6, 5], `${what}: nothing lost, nothing doubled`);
}

/** Runs `scenario` with a fault at its 1st, 2nd, 3rd … call, until one run has fewer calls than that. */
async function atEveryCall(
  fault: Fault,
  attempts: number,
  scenario: (checkpointer: Checkpointer, clock: ManualClock, log: MemoryLog, what: string) => Promise<void>,
): Promise<number> {
  for (let number = 1; ; number++) {
    const clock = manualClock();
    const log = new MemoryLog(clock);
    const faulty = new FaultyLog(log, { faultAt: atCall(number, fault) });
    const checkpointer = new Checkpointer(faulty, { ...clock, retry: { attempts, baseDelayMs: 0 } });
    const what = (): string => `fault ${fault.when} call ${number} (${faulty.calls[number - 1] ?? "never made"})`;
    try {
      await scenario(checkpointer, clock, log, what());
    } catch (error) {
      throw new Error(what(), { cause: error });
    }
    if (faulty.calls.length < number) return number;
  }
}

describe.each(["before", "after"] as const)("a failure %s the effect of any one call", (when) => {
  test("loses nothing and doubles nothing when the program repeats the same call", async () => {
    const calls = await atEveryCall({ when }, 1, async (checkpointer, clock, log, what) => {
      await liveThrough(checkpointer, clock);
      await assertLivedThrough(log, what);
    });
    expect(calls).toBeGreaterThan(30);
  });

  test("is not noticed by the program when the checkpointer may try again", async () => {
    await atEveryCall({ when, code: "TIMEOUT" }, 3, async (checkpointer, clock, log, what) => {
      await liveThrough(checkpointer, clock);
      await assertLivedThrough(log, what);
    });
  });

  test("does not make a fork or a copy fail, or happen twice", async () => {
    await atEveryCall({ when }, 3, async (checkpointer, _clock, log, what) => {
      await checkpointer.save(conversation(2), "t");
      await checkpointer.fork("t", "fork");
      assert.equal(await checkpointer.copyThread("t", "copy"), true, what);
      await checkpointer.save(and(await loaded(checkpointer, "copy"), "message 3"), "copy");
      const clean = new Checkpointer(log);
      assert.equal((await historyOf(clean, "fork")).length, 1, what);
      assert.equal((await historyOf(clean, "copy")).length, 2, what);
      assert.deepEqual([...(await clean.listThreads())].sort(), ["copy", "fork", "t"], what);
    });
  });

  test("leaves a state that goes to two stores free to be repeated in the one that failed", async () => {
    const first = new FaultyLog(new MemoryLog(), { faultAt: atCall(2, { when }) });
    const [unlucky, lucky] = [new Checkpointer(first, { retry: { attempts: 1 } }), new Checkpointer(new MemoryLog())];
    const state = conversation(1);
    await unlucky.save(state, "t");
    const next = and(state, "message 2");
    await assert.rejects(unlucky.save(next, "t"), (error) => StateError.is(error, "UNAVAILABLE"));
    await lucky.save(next, "t");
    await unlucky.save(next, "t");
    expect((await historyOf(unlucky, "t")).length).toBe(2);
    expect((await loaded(unlucky, "t")).messages.length).toBe(2);
  });
});

const readingBodies = (calls: readonly string[]): readonly string[] =>
  calls.filter((method) => method === "readTail" || method === "readCheckpoint");

describe("round trips", () => {
  async function callsOf(work: (checkpointer: Checkpointer) => Promise<unknown>): Promise<readonly string[]> {
    const log = new MemoryLog();
    const before = new Checkpointer(log);
    await before.save(conversation(3), "t");
    await before.save(and(await loaded(before, "t"), "message 4"), "t");
    const faulty = new FaultyLog(log);
    await work(new Checkpointer(faulty));
    return faulty.calls;
  }

  test("a load is one", async () => {
    expect(await callsOf((checkpointer) => checkpointer.load("t"))).toEqual(["readTail"]);
  });

  test("a save of a loaded state is one more", async () => {
    const work = async (checkpointer: Checkpointer) =>
      checkpointer.save(and(await loaded(checkpointer, "t"), "message 5"), "t");
    expect(await callsOf(work)).toEqual(["readTail", "append"]);
  });

  test("the first save of a thread is one", async () => {
    expect(await callsOf((checkpointer) => checkpointer.save(conversation(1), "new"))).toEqual(["append"]);
  });

  test("listing and measuring read no bodies", async () => {
    const work = async (checkpointer: Checkpointer) => {
      await checkpointer.listCheckpoints("t");
      await checkpointer.exists("t");
      await checkpointer.getMetadata("t");
      await checkpointer.stats("t");
      await historyOf(checkpointer, "t");
      await checkpointer.listThreads();
      await checkpointer.listWithMetadata();
      await checkpointer.lineage("t");
    };
    expect(readingBodies(await callsOf(work))).toEqual([]);
  });

  test("planning a vacuum reads no body but that of the legal holds", async () => {
    const work = (checkpointer: Checkpointer) => checkpointer.vacuum({ keepLast: 1, dryRun: true });
    expect(readingBodies(await callsOf(work))).toEqual(["readTail"]);
  });
});

describe("FaultyLog itself", () => {
  test("without faults is the driver it wraps", async () => {
    for (const conformanceCase of threadLogSuite.cases) {
      const create = async (log: (inner: MemoryLog) => MemoryLog | FaultyLog) => {
        const clock = manualClock();
        return { subject: log(new MemoryLog(clock)), clock };
      };
      const plain = await runCase(threadLogSuite, conformanceCase, () => create((inner) => inner));
      const wrapped = await runCase(threadLogSuite, conformanceCase, () => create((inner) => new FaultyLog(inner)));
      expect(wrapped.outcome, conformanceCase.name).toBe(plain.outcome);
    }
  });

  test("offers what its driver offers and nothing else", () => {
    const plain = new MemoryLog();
    expect(new FaultyLog(plain).capabilities).toBe(plain.capabilities);
    expect(new FaultyLog(plain).classify(new InjectedFault({ number: 1, method: "tail" }, { when: "before" }))).toBe(
      "UNAVAILABLE",
    );
  });

  test("with latency shows that writers who wait lose nothing", async () => {
    for (const conformanceCase of checkpointerSuite.cases.filter(({ area }) => area === "races")) {
      const result = await runCase(checkpointerSuite, conformanceCase, async () => {
        const log = new MemoryLog();
        const open = () => new Checkpointer(new FaultyLog(log, { latencyMs: 1 }));
        return { subject: open(), reopen: async () => open() };
      });
      expect(result, conformanceCase.name).toEqual({ outcome: "passed" });
    }
  });
});
