import { describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { AppendRequest } from "../../src/checkpoint/log/thread-log.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { ERASED } from "../../src/state/people/subjects.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { failureOf } from "../failure-of.ts";
import { sampleKeyring } from "../sealing/sample-keyring.ts";
import { KEY, range } from "./people.ts";

const ask = { by: "counsel", reason: "case 17" };
const about = (subject: string | readonly string[]) => ({ metadata: { subject } });
const said = (text: string, subject: string | readonly string[]): AgentState =>
  AgentState.create().withMessage(userMessage(text, about(subject)));
const textsOf = async (checkpointer: Checkpointer, threads: readonly string[]): Promise<readonly unknown[]> =>
  Promise.all(threads.map(async (id) => (await checkpointer.load(id))?.messages[0]?.content));

/** Calls back before the first record is rewritten, and before the first thread is removed. */
class WatchedLog extends MemoryLog {
  onChange: (() => Promise<unknown>) | undefined;

  override async append(...args: Parameters<MemoryLog["append"]>): ReturnType<MemoryLog["append"]> {
    const [, { replace = [] }]: readonly [string, AppendRequest] = args;
    const outcome = await super.append(...args);
    if (replace.length > 0) await this.#changed();
    return outcome;
  }

  override async remove(...args: Parameters<MemoryLog["remove"]>): ReturnType<MemoryLog["remove"]> {
    const outcome = await super.remove(...args);
    await this.#changed();
    return outcome;
  }

  async #changed(): Promise<void> {
    const call = this.onChange;
    this.onChange = undefined;
    await call?.();
  }
}

const THREADS = range(0, 5).map((each) => `t/${each}`);

async function fiveThreads(
  text: string,
): Promise<{ log: WatchedLog; checkpointer: Checkpointer; data: PersonalData; other: PersonalData }> {
  const log = new WatchedLog();
  const [checkpointer, second] = [new Checkpointer(log), new Checkpointer(log)];
  for (const threadId of THREADS) await checkpointer.save(said(text, "ann"), threadId);
  const ledger = new InMemoryStore();
  const data = new PersonalData({ checkpointers: [checkpointer], ledger, key: KEY });
  const other = new PersonalData({ checkpointers: [second], ledger, key: KEY });
  return { log, checkpointer, data, other };
}

describe("two callers", () => {
  test.each([
    ["on the person", { subject: "ann", ...ask }],
    ["on the threads", { threadPrefix: "t/", ...ask }],
  ])(
    "a hold %s that is placed while an erasure runs counts from the next thread on, and the receipt says so",
    async (_, hold) => {
      const { log, checkpointer, data, other } = await fiveThreads("Ann");
      log.onChange = () => other.placeHold(hold);
      const error = await failureOf(() => data.eraseUser("ann"));
      expect(error.code).toBe("HELD");
      const left = (await textsOf(checkpointer, THREADS)).filter((text) => text === "Ann");
      expect(left).toHaveLength(4);
      const [receipt] = await data.resume({ acceptHeld: true });
      const [placed] = await data.holds();
      const count = "subject" in hold ? 5 : 4;
      expect(receipt?.held.reduce((sum, each) => sum + each.count, 0)).toBe(count);
      expect(receipt?.held[0]).toMatchObject({ id: placed?.id, reason: "case 17", placedBy: "counsel" });
      expect(receipt?.verified).toBe(false);
      expect(await textsOf(checkpointer, THREADS)).toHaveLength(5);
    },
  );

  test("a hold that is placed while a vacuum runs counts from the next thread on, and the report says so", async () => {
    const { log, checkpointer, other } = await fiveThreads("Ann");
    log.onChange = () => other.placeHold({ subject: "ann", ...ask });
    const later = new Checkpointer(log, { now: () => Date.now() + 86_400_000 });
    const report = await later.vacuum({ olderThanDays: 0.5 });
    expect(report).toMatchObject({ threads: 1, skipped: 4 });
    expect(report.warnings.every(({ code, message }) => code === "HELD" && message.includes("case 17"))).toBe(true);
    expect((await textsOf(checkpointer, THREADS)).filter((text) => text === "Ann")).toHaveLength(4);
  });

  test("holds that two place at once are both there", async () => {
    const { data, other } = await fiveThreads("Ann");
    await Promise.all(range(0, 4).map((each) => (each % 2 ? data : other).placeHold({ subject: `p${each}`, ...ask })));
    const holds = await data.holds();
    expect(holds.map(({ subject }) => subject).sort()).toEqual(["p0", "p1", "p2", "p3"]);
    expect(holds.every(({ missingIn }) => missingIn.length === 0)).toBe(true);
  });
});

test("the key of a person stays while a hold keeps what it opens, and goes with it", async () => {
  const { keyring } = await sampleKeyring({ cacheMs: 0 });
  const checkpointer = new Checkpointer(new MemoryLog(), { sealing: new Sealing({ keyring }) });
  await checkpointer.save(said("Ann and Ben agree", ["ann", "ben"]), "t");
  const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
  const hold = await data.placeHold({ subject: "ben", ...ask });
  const receipt = await data.eraseUser("ann", { acceptHeld: true });
  expect(receipt).toMatchObject({ verified: false, held: [{ id: hold.id, count: 1 }] });
  expect(receipt.places.reduce((sum, { keys }) => sum + keys, 0)).toBe(0);
  expect(await textsOf(checkpointer, ["t"])).toEqual(["Ann and Ben agree"]);
  await data.liftHold(hold.id, ask);
  const second = await data.eraseUser("ann");
  expect(second.places.reduce((sum, { keys }) => sum + keys, 0)).toBe(1);
  expect(await textsOf(checkpointer, ["t"])).toEqual([ERASED]);
});

test("a backend that was restored from a backup has the holds again, and knows which were lifted, before it is opened", async () => {
  const ledger = new InMemoryStore();
  const first = new PersonalData({ checkpointers: [new Checkpointer(new MemoryLog())], ledger, key: KEY });
  const lifted = await first.placeHold({ threadPrefix: "a/", ...ask });
  const active = await first.placeHold({ threadPrefix: "b/", ...ask });
  const backup = new Checkpointer(new MemoryLog());
  const before = new PersonalData({ checkpointers: [backup], ledger, key: KEY });
  await before.resume();
  await first.liftHold(lifted.id, ask);
  for (const threadId of ["a/1", "b/1"]) await backup.save(AgentState.create(), threadId);
  const restored = new PersonalData({ checkpointers: [backup], ledger, key: KEY });
  await restored.open();
  expect((await restored.holds()).map(({ id, missingIn }) => [id, missingIn]).sort()).toEqual(
    [
      [lifted.id, []],
      [active.id, []],
    ].sort(),
  );
  expect(await backup.delete("a/1")).toBe(true);
  expect((await failureOf(() => backup.delete("b/1"))).context.holds?.[0]?.id).toBe(active.id);
});

test("what was erased and comes back with a backup waits for the hold, and goes once that is lifted", async () => {
  const [live, restored] = [new Checkpointer(new MemoryLog()), new Checkpointer(new MemoryLog())];
  const ledger = new InMemoryStore();
  await live.save(said("Ann", "ann"), "t");
  await new PersonalData({ checkpointers: [live], ledger, key: KEY }).eraseUser("ann");
  await restored.save(said("Ann", "ann"), "t");
  const data = new PersonalData({ checkpointers: [restored], ledger, key: KEY });
  const hold = await data.placeHold({ threadPrefix: "t", ...ask });
  expect((await failureOf(() => data.open())).code).toBe("HELD");
  await data.open({ acceptHeld: true });
  expect(await textsOf(restored, ["t"])).toEqual(["Ann"]);
  await data.liftHold(hold.id, ask);
  await data.open();
  expect(await textsOf(restored, ["t"])).toEqual([ERASED]);
});

describe("bad input", () => {
  const data = new PersonalData({
    checkpointers: [new Checkpointer(new MemoryLog())],
    ledger: new InMemoryStore(),
    key: KEY,
  });

  test.each([
    ["no target", { ...ask }, /one of the two/],
    ["both", { subject: "a", threadPrefix: "b", ...ask }, /one of the two/],
    ["no reason", { subject: "a", by: "counsel" }, /needs reason/],
    ["no name of who places it", { subject: "a", reason: "case 17" }, /needs by/],
    ["a reason that names the person", { subject: "ann", by: "counsel", reason: "ann sues us" }, /must not name/],
    ["an unknown option", { subject: "a", until: "tomorrow", ...ask }, /until/],
  ])("a hold with %s is refused", async (_, request, message) => {
    await expect(data.placeHold(request as never)).rejects.toThrow(message);
    expect(await data.holds()).toEqual([]);
  });

  test.each([
    ["no rules", [], /needs rules/],
    ["a rule without a limit", [{ category: "process" }], /rule 1: say what may go/],
    ["an unknown category", [{ category: "all", keepLast: 1 }], /rule 1: category/],
    ["a typing error", [{ category: "user", olderThanDay: 3 }], /olderThanDay/],
    ["days below 0", [{ category: "user", olderThanDays: -1 }], /from 0 on/],
    ["a namespace for threads", [{ category: "process", keepLast: 1, namespace: ["a"] }], /threadPrefix/],
    ["a prefix for user data", [{ category: "user", keepLast: 1, threadPrefix: "a" }], /namespace/],
    ["a limit beside keep", [{ category: "user", keepLast: 1, keep: "all" }], /without a limit/],
  ])("retention with %s is refused, and nothing goes", async (_, rules, message) => {
    await expect(data.applyRetention({ rules: rules as never })).rejects.toThrow(message);
    expect(await data.retentionReceipts()).toEqual([]);
  });

  test("lifting an unknown hold is NOT_FOUND, and lifting twice changes nothing", async () => {
    expect((await failureOf(() => data.liftHold("no-such-hold", ask))).code).toBe("NOT_FOUND");
    const { id } = await data.placeHold({ subject: "ann", ...ask });
    const lifted = await data.liftHold(id, ask);
    expect(await data.liftHold(id, { by: "another", reason: "again" })).toEqual(lifted);
  });
});
