import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { BreakingLog } from "../../../test/altered-log.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { type HeldLease, holdLease } from "../../../test/held-lease.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import { placeOfTail } from "../log/driver-rules.ts";
import { markRecord } from "../record/record.ts";

const START = Date.UTC(2026, 0, 1);
let time: number;
let log: MemoryLog;
let checkpointer: Checkpointer;

beforeEach(() => {
  time = START;
  log = new MemoryLog({ now: () => time });
  checkpointer = new Checkpointer(log, { now: () => time });
});

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const texts = async (): Promise<unknown[]> =>
  (await checkpointer.load("t"))?.messages.map(({ content }) => content) ?? [];

const held = (owner: string, ttlMs: number): Promise<HeldLease> => holdLease(checkpointer, owner, ttlMs);

describe("while a lease is held", () => {
  test("its holder may write, with a state it loaded and with one it made", async () => {
    await checkpointer.save(said("before"), "t");
    await checkpointer.withLease("t", async (lease) => {
      const state = (await checkpointer.load("t"))!.withMessage(userMessage("a"));
      await checkpointer.save(state, "t", { lease });
      await checkpointer.save(state.withMessage(userMessage("b")), "t", { lease });
    });
    expect(await texts()).toEqual(["before", "a", "b"]);
  });

  test("a thread can begin with it", async () => {
    await checkpointer.withLease("t", (lease) => checkpointer.save(said("first"), "t", { lease }));
    expect(await texts()).toEqual(["first"]);
  });

  test("other writers are refused, and are told who holds it and until when", async () => {
    const state = said("before");
    await checkpointer.save(state, "t");
    const holder = await held("worker-1", 60_000);
    const failure = await failureOf(() => checkpointer.save(state.withMessage(userMessage("x")), "t"));
    expect(failure).toMatchObject({ code: "CONFLICT", context: { threadId: "t", written: "no" } });
    expect(failure.message).toBe(
      'memory: thread "t" cannot be written: it is leased to "worker-1" until 2026-01-01T00:01:00.000Z',
    );
    await holder.letGo();
    await checkpointer.save(state.withMessage(userMessage("after")), "t");
    expect(await texts()).toEqual(["before", "after"]);
  });

  test("no other holder may take it", async () => {
    const holder = await held("worker-1", 60_000);
    const failure = await failureOf(() => checkpointer.withLease("t", async () => undefined, { owner: "worker-2" }));
    expect(failure.message).toContain('it is leased to "worker-1" until 2026-01-01T00:01:00.000Z');
    await holder.letGo();
  });

  test("another may wait for it, and get it when it is given back", async () => {
    await checkpointer.save(said("before"), "t");
    const holder = await held("worker-1", 60_000);
    let gotIt = false;
    const waiting = checkpointer
      .withLease("t", async ({ token }) => token, { waitMs: 20_000 })
      .then((token) => {
        gotIt = true;
        return token;
      });
    await sleep(50);
    expect(gotIt).toBe(false);
    await holder.letGo();
    expect(await waiting).not.toBe(holder.lease.token);
  });

  test("one who waits can be called off", async () => {
    const holder = await held("worker-1", 60_000);
    const controller = new AbortController();
    const waiting = checkpointer.withLease("t", async () => 1, { waitMs: 600_000, signal: controller.signal });
    controller.abort(new Error("called off"));
    await expect(waiting).rejects.toThrow("called off");
    await holder.letGo();
  });

  test("reading needs none", async () => {
    await checkpointer.save(said("before"), "t");
    const holder = await held("worker-1", 60_000);
    expect(await texts()).toEqual(["before"]);
    expect(await checkpointer.listCheckpoints("t")).toHaveLength(1);
    await holder.letGo();
  });
});

describe("the token", () => {
  test("is another one for each holding, also with writes in between", async () => {
    const tokens = new Set<string>();
    await checkpointer.save(said("before"), "t");
    for (let turn = 0; turn < 3; turn++) {
      await checkpointer.withLease("t", async ({ token }) => void tokens.add(token));
      await checkpointer.save((await checkpointer.load("t"))!.withMessage(userMessage("x")), "t");
    }
    expect(tokens.size).toBe(3);
  });
});

describe("in the end", () => {
  test("a thread that never got a checkpoint is gone again", async () => {
    await checkpointer.withLease("t", async () => undefined);
    expect(await log.tail("t")).toBeUndefined();
  });

  test("the lease is given back when the work fails, and its error is what the caller gets", async () => {
    await checkpointer.save(said("before"), "t");
    const own = new Error("the work failed");
    await expect(checkpointer.withLease("t", () => Promise.reject(own))).rejects.toBe(own);
    expect(await checkpointer.withLease("t", async () => "free")).toBe("free");
  });

  test("what the work returned is not lost when giving back fails", async () => {
    const breaking = new BreakingLog();
    const fragile = new Checkpointer(breaking, { retry: { attempts: 1 } });
    await fragile.save(said("before"), "t");
    const answer = fragile.withLease("t", async () => {
      breaking.failures.push("before", "before", "before");
      return "the answer";
    });
    expect(await answer).toBe("the answer");
  });

  test("many turns leave few records behind", async () => {
    await checkpointer.save(said("before"), "t");
    for (let turn = 0; turn < 20; turn++) await checkpointer.withLease("t", async () => undefined);
    expect((await log.readTail("t"))!.records.length).toBeLessThanOrEqual(2);
  });
});

test("a time to live that is no time is refused", async () => {
  for (const ttlMs of [0, -1, Number.NaN]) {
    const failure = await failureOf(() => checkpointer.withLease("t", async () => undefined, { ttlMs }));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
  }
});

test("a thread that was moved to another store is refused with where it is, and still loads", async () => {
  await checkpointer.save(said("hello"), "t");
  const moved = { to: "postgres://elsewhere/app", at: START };
  const record = markRecord("edit", { seq: 2, writeId: "move", base: 1, head: 1 }, START, { moved });
  await log.append("t", { expected: placeOfTail((await log.tail("t"))!), record });
  const loaded = await checkpointer.load("t");
  expect(loaded?.messages).toHaveLength(1);
  const failure = await failureOf(() => checkpointer.save(loaded!.withMessage(userMessage("more")), "t"));
  expect(failure).toMatchObject({ code: "CONFLICT" });
  expect(failure.message).toContain("it was moved to postgres://elsewhere/app");
});

test("who waits for a lease gives up after the time that passed, whatever the option `now` says", async () => {
  const holder = await held("worker-1", 60_000);
  const began = performance.now();
  // The clock of this checkpointer stands still.
  const failure = await failureOf(() => checkpointer.withLease("t", async () => undefined, { waitMs: 100 }));
  expect(failure).toMatchObject({ code: "CONFLICT" });
  expect(performance.now() - began).toBeGreaterThanOrEqual(100);
  await holder.letGo();
});

test("a hundred leased saves leave their checkpoints and one mark, of which a vacuum leaves nothing that has to be read", async () => {
  let state = said("0");
  for (let index = 1; index <= 100; index++) {
    await checkpointer.withLease("t", async (lease) => {
      state = state.withMessage(userMessage(`${index}`));
      await checkpointer.save(state, "t", { lease });
    });
  }
  const cold = await log.readTail("t");
  expect(cold?.records.length).toBeLessThanOrEqual(101);
  expect((await checkpointer.listCheckpoints("t", { limit: 1000 })).length).toBe(100);
  await checkpointer.vacuum({ keepLast: 1 });
  const left = await log.readTail("t");
  expect(left?.records.filter(({ checkpointId }) => checkpointId !== undefined)).toHaveLength(1);
  expect(left?.records.length).toBeLessThanOrEqual(2);
  expect((await texts()).at(-1)).toBe("100");
});
