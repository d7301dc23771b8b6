import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MemoryLog } from "../src/backends/memory/log.ts";
import { uncheckedHead } from "../src/checkpoint/base-checkpointer.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { placeOfTail } from "../src/checkpoint/log/driver-rules.ts";
import type { AppendOutcome, AppendRequest } from "../src/checkpoint/log/thread-log.ts";
import { markRecord } from "../src/checkpoint/record/record.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import { failureOf } from "./failure-of.ts";
import { LOCAL_BACKENDS, type LocalStorage } from "./local-backends.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

/** Saves to the thread every 5 ms, from an instance of its own, until told to stop. Has saved once when this resolves. */
async function writeWithoutPause(storage: LocalStorage): Promise<{ stop(): Promise<number> }> {
  const writer = storage.open();
  let isStopped = false;
  let begin = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const done = (async () => {
    let state = (await writer.load("t"))!;
    let saves = 0;
    for (; !isStopped && saves < 20_000; saves++) {
      state = state.withMetadata({ saves });
      await writer.save(state, "t");
      begin();
      await sleep(5);
    }
    return saves;
  })();
  done.catch(() => undefined);
  await Promise.race([hasBegun, done]);
  return {
    stop: () => {
      isStopped = true;
      return done;
    },
  };
}

/** How often a timer of 10 ms fires: never while something keeps the event loop from turning. */
function ticking(): { count: number; stop(): void } {
  const ticks = { count: 0, stop: () => clearInterval(timer) };
  const timer = setInterval(() => ticks.count++, 10);
  return ticks;
}

describe.each(LOCAL_BACKENDS)("$name, beside a writer that saves every 5 ms", ({ name, create, longThread }) => {
  let storage: LocalStorage;
  let checkpointer: Checkpointer;
  const length = name === "sqlite" ? 3_000 : longThread;

  beforeAll(async () => {
    storage = await create();
    checkpointer = storage.open();
    let state = said("first");
    for (let index = 1; index <= length; index++) {
      await checkpointer.save(state, "t", { checkpointId: `c${index}` });
      state = state.withMetadata({ index });
    }
  });

  afterAll(() => storage.dispose());

  test("an old checkpoint is deleted, and the writer loses nothing", async () => {
    const writer = await writeWithoutPause(storage);
    expect(await checkpointer.delete("t", "c2")).toBe(true);
    expect(await checkpointer.delete("t", `c${length >> 1}`)).toBe(true);
    const saves = await writer.stop();
    expect(await checkpointer.exists("t", "c2")).toBe(false);
    expect((await checkpointer.load("t", "c3"))?.metadata).toEqual({ index: 2 });
    expect((await checkpointer.load("t"))?.metadata).toMatchObject({ saves: saves - 1 });
    expect((await checkpointer.stats("t"))?.checkpoints).toBe(length - 2 + saves);
  });

  test("a vacuum ends, does its work, and lets timers fire", async () => {
    const writer = await writeWithoutPause(storage);
    const before = (await checkpointer.stats("t"))?.checkpoints ?? 0;
    const ticks = ticking();
    const began = process.cpuUsage();
    const report = await checkpointer.vacuum({ keepLast: 20 });
    const { user, system } = process.cpuUsage(began);
    ticks.stop();
    const saves = await writer.stop();
    expect(report).toMatchObject({ threads: 0, skipped: 0, warnings: [] });
    expect(before).toBeGreaterThan(length - 2);
    expect(report.checkpoints).toBeGreaterThanOrEqual(before - 20);
    expect(saves).toBeGreaterThan(0);
    // Of the processor's time: a machine that stalls keeps timers from firing, too.
    if (user + system > 100_000) expect(ticks.count).toBeGreaterThan(0);
    const kept: string[] = [];
    for await (const { checkpointId } of checkpointer.history("t")) kept.push(checkpointId);
    expect(kept.length).toBeLessThanOrEqual(20 + saves);
    for (const checkpointId of [kept[0]!, kept.at(-1)!]) {
      expect((await checkpointer.load("t", checkpointId))?.messages).toHaveLength(1);
    }
  });

  test("a lease is got", async () => {
    const writer = await writeWithoutPause(storage);
    expect(await checkpointer.withLease("t", async () => "held")).toBe("held");
    // While the lease was held, the writer was refused.
    await writer.stop().catch((error: unknown) => expect(error).toMatchObject({ code: "CONFLICT" }));
  });
});

/** A storage in which another writer is always faster: every other append comes too late. */
class CrowdedLog extends MemoryLog {
  isCrowded = false;
  appends = 0;

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    this.appends++;
    const tail = await this.tail(threadId);
    if (this.isCrowded && tail !== undefined) {
      const { seq, base, head } = tail.entry;
      const parts = { seq: seq + 1, base, head, writeId: `rival ${seq}` };
      const record = markRecord("edit", parts, 0, undefined);
      await super.append(threadId, { expected: placeOfTail(tail), record, drop: seq > 5 ? [seq] : [] });
    }
    return super.append(threadId, request);
  }
}

describe("where another writer is always faster", () => {
  let log: CrowdedLog;
  let checkpointer: Checkpointer;

  beforeEach(async () => {
    log = new CrowdedLog();
    checkpointer = new Checkpointer(log);
    let state = said("first");
    for (let index = 1; index <= 5; index++) {
      await checkpointer.save(state, "t", `c${index}`);
      state = state.withMetadata({ index });
    }
    await checkpointer.save(said("other"), "u", "c1");
    await checkpointer.save((await checkpointer.load("u"))!, "u", "c2");
    log.isCrowded = true;
    log.appends = 0;
  });

  const calls: readonly [string, () => Promise<unknown>][] = [
    ["a deletion", () => checkpointer.delete("t", "c2")],
    ["a deletion of the newest", () => checkpointer.delete("t", "c5")],
    ["a lease", () => checkpointer.withLease("t", async () => 1)],
    ["a save over whatever is there", () => checkpointer.save(said("x"), "t", { expectedHead: uncheckedHead })],
    ["a save behind the head that was loaded", async () => checkpointer.save((await checkpointer.load("t"))!, "t")],
  ];
  test.each(calls)("%s gives up with CONFLICT after a number of attempts", async (_, call) => {
    expect(await failureOf(call)).toMatchObject({ code: "CONFLICT", context: { threadId: "t", written: "no" } });
    expect(log.appends).toBeGreaterThan(10);
    expect(log.appends).toBeLessThanOrEqual(1_100);
    log.isCrowded = false;
    expect((await checkpointer.load("t"))?.metadata).toEqual({ index: 4 });
  });

  test("a vacuum leaves the thread as it is, says so, and goes on to the next", async () => {
    const report = await checkpointer.vacuum({ keepLast: 1 });
    expect(report).toMatchObject({ checkpoints: 0, skipped: 2 });
    expect(report.warnings.map(({ threadId, code }) => [threadId, code])).toEqual([
      ["t", "CONFLICT"],
      ["u", "CONFLICT"],
    ]);
    log.isCrowded = false;
    expect(await checkpointer.vacuum({ keepLast: 1 })).toMatchObject({ checkpoints: 5, skipped: 0 });
  });
});
