import { expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { StateError } from "../../src/errors.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { newCheckpointId } from "../../src/saver/saver.ts";
import { faultInReceipts } from "../../src/session/receipts.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { ERASED } from "../../src/state/people/subjects.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { failureOf } from "../failure-of.ts";
import type { Backends } from "./erasing-suite.ts";
import { KEY } from "./people.ts";

const ask = { by: "counsel@example.com", reason: "case 17" };

/** What Ann and Ben said in one thread, what Ben said in another, and an item of each. */
async function filled({ checkpointer, store }: Backends): Promise<PersonalData> {
  const [ann, ben] = [{ metadata: { subject: "ann" } }, { metadata: { subject: "ben" } }];
  const both = AgentState.create()
    .withMessage(userMessage("Ann says tea", ann))
    .withMessage(userMessage("Ben too", ben));
  const shared = { metadata: { subject: ["ann", "ben"] } };
  await checkpointer.save(both.withMessage(userMessage("Ann and Ben agree", shared)), "case/1");
  await checkpointer.save(AgentState.create().withMessage(userMessage("Ben alone", ben)), "talk/1");
  await store.put(["facts"], "ann", { text: "tea" }, ann);
  await store.put(["facts"], "ben", { text: "rum" }, ben);
  const now = () => Date.parse("2026-03-01T00:00:00Z");
  return new PersonalData({
    checkpointers: [checkpointer],
    stores: [store],
    ledger: new InMemoryStore(),
    key: KEY,
    now,
  });
}

const texts = (state: AgentState | undefined): readonly unknown[] =>
  state?.messages.map(({ content }) => content) ?? [];

/** What was written just now is older than now only when the clock has moved on. */
async function clockMovesOn(): Promise<void> {
  const end = Date.now() + 10;
  while (Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** The one suite for every backend. */
export function holds(create: () => Promise<Backends>): void {
  test("a hold on a person stops erasure, deletion and vacuum with an error that says who placed it, why, since when and how to lift it", async () => {
    const backends = await create();
    const { checkpointer, store } = backends;
    const data = await filled(backends);
    const hold = await data.placeHold({ subject: "ann", ...ask });
    const attempts: readonly (readonly [string, () => Promise<unknown>])[] = [
      ["eraseUser", () => data.eraseUser("ann")],
      ["delete a thread", () => checkpointer.delete("case/1")],
      ["delete an item", () => store.delete(["facts"], "ann")],
      ["clear a namespace", () => store.clearNamespace(["facts"])],
      ["clear everything", () => store.clearNamespace([], { recursive: true })],
      ["delete the list of holds", () => checkpointer.delete("holdfast:holds")],
    ];
    for (const [what, attempt] of attempts) {
      const error = await failureOf(attempt);
      expect(StateError.is(error, "HELD"), `${what}: ${String(error)}`).toBe(true);
      const { message, context } = error;
      for (const word of [hold.id, ask.by, ask.reason, "2026-03-01T00:00:00.000Z", "liftHold("])
        expect(message).toContain(word);
      expect(context.holds).toEqual([
        { id: hold.id, placedBy: ask.by, reason: ask.reason, placedAt: "2026-03-01T00:00:00.000Z" },
      ]);
    }
    expect(await data.receipts()).toEqual([]);
    await clockMovesOn();
    const report = await checkpointer.vacuum({ olderThanDays: 0 });
    expect(report.skipped).toBe(1);
    expect(report.warnings[0]).toMatchObject({ threadId: "case/1", code: "HELD" });
    expect(report.warnings[0]?.message).toContain(ask.by);
    expect(await checkpointer.exists("case/1")).toBe(true);
    expect(await store.exists(["facts"], "ann")).toBe(true);
    // What is under no hold went.
    expect(await checkpointer.exists("talk/1")).toBe(false);

    await data.liftHold(hold.id, { by: "counsel@example.com", reason: "case 17 is closed" });
    expect(await data.holds()).toMatchObject([{ id: hold.id, lifted: { reason: "case 17 is closed" }, missingIn: [] }]);
    const receipt = await data.eraseUser("ann");
    expect(receipt).toMatchObject({ verified: true, held: [] });
    expect(texts(await checkpointer.load("case/1"))).toEqual([ERASED, "Ben too", ERASED]);
    // The list of holds tells what was held, and no longer whom.
    expect(JSON.stringify(await data.holds())).not.toContain('"ann"');
    expect((await data.inventory("ann")).total).toBe(0);
    await backends.dispose();
  });

  test("a hold on another person keeps what is about both, and the receipt says so; lifted, the rest is erased", async () => {
    const backends = await create();
    const { checkpointer, store } = backends;
    const data = await filled(backends);
    const hold = await data.placeHold({ subject: "ben", ...ask });
    const dry = await data.eraseUser("ann", { dryRun: true });
    expect(dry.held).toMatchObject([{ id: hold.id, backend: "threads 1", count: 1 }]);
    const error = await failureOf(() => data.eraseUser("ann"));
    expect(StateError.is(error, "HELD"), String(error)).toBe(true);
    expect(String(error)).toContain(`1 under hold ${hold.id}, placed by ${ask.by}`);
    expect(texts(await checkpointer.load("case/1"))).toEqual([ERASED, "Ben too", "Ann and Ben agree"]);
    expect(await store.exists(["facts"], "ann")).toBe(false);
    const [receipt] = await data.resume({ acceptHeld: true });
    expect(receipt).toMatchObject({ verified: false, held: [{ id: hold.id, reason: "case 17", count: 1 }] });
    expect(faultInReceipts(await data.receipts(), data.publicKey)).toBeUndefined();
    await data.liftHold(hold.id, ask);
    expect(await data.eraseUser("ann")).toMatchObject({ verified: true, held: [] });
    expect(texts(await checkpointer.load("case/1"))).toEqual([ERASED, "Ben too", ERASED]);
    await backends.dispose();
  });

  test("a hold on threads keeps their checkpoints, those of graphs too, and nothing of the others", async () => {
    const backends = await create();
    const { checkpointer } = backends;
    const data = await filled(backends);
    const saver = saverOf(checkpointer);
    await saver.put({ threadId: "case/graph", checkpointId: newCheckpointId(), checkpointData: { a: 1 } });
    await saver.put({ threadId: "case/graph", checkpointId: newCheckpointId(), checkpointData: { a: 2 } });
    for (const a of [1, 2]) {
      await saver.put({ threadId: "zoo/graph", checkpointId: newCheckpointId(), checkpointData: { a } });
    }
    const hold = await data.placeHold({ threadPrefix: "case/", ...ask });
    expect((await failureOf(() => saver.prune({ keepLast: 1 }))).code).toBe("HELD");
    expect((await saver.listCheckpoints({ threadId: "zoo/graph" })).length).toBe(1);
    expect(await saver.deleteThread("zoo/graph")).toBe(true);
    const [first] = await checkpointer.listCheckpoints("case/1");
    for (const attempt of [
      () => checkpointer.delete("case/1", first?.checkpointId ?? ""),
      () => saver.deleteThread("case/graph"),
    ]) {
      expect(StateError.is(await failureOf(attempt), "HELD")).toBe(true);
    }
    await clockMovesOn();
    const report = await checkpointer.vacuum({ olderThanDays: 0, dryRun: true });
    expect(report).toMatchObject({ threads: 1, skipped: 2 });
    const failed = await failureOf(() => data.eraseUser("ben"));
    expect(String(failed)).toContain(hold.id);
    expect(texts(await checkpointer.load("talk/1"))).toEqual([ERASED]);
    expect(texts(await checkpointer.load("case/1"))).toContain("Ben too");
    await data.liftHold(hold.id, ask);
    expect(await data.resume()).toMatchObject([{ verified: true, held: [] }]);
    expect(await checkpointer.delete("case/1")).toBe(true);
    expect(await saver.deleteThread("case/graph")).toBe(true);
    await backends.dispose();
  });

  test("rules per category, the first that fits decides: a dry run tells what goes and why, then it goes, and the receipt counts it", async () => {
    const backends = await create();
    const { checkpointer, store } = backends;
    const data = await filled(backends);
    await checkpointer.save(AgentState.create(), "audit/1");
    await checkpointer.save(AgentState.create(), "scratch/1", { metadata: { category: "ephemeral" } });
    let talk = await checkpointer.load("talk/1");
    for (const text of ["one", "two"]) {
      talk = (talk ?? AgentState.create()).withMessage(userMessage(text));
      await checkpointer.save(talk, "talk/1");
    }
    await store.put(["cache"], "c1", 1, { metadata: { category: "ephemeral" } });
    await store.put(["knowledge"], "k1", 1);
    const hold = await data.placeHold({ subject: "ann", ...ask });
    const rules = [
      { category: "process", threadPrefix: "audit/", keep: "all" },
      { category: "process", keepLast: 1 },
      { category: "user", olderThanDays: 0 },
      { category: "ephemeral", olderThanDays: 0 },
    ] as const;
    await clockMovesOn();
    const dry = await data.applyRetention({ rules, dryRun: true });
    const wanted = {
      totals: [
        { rule: 1, checkpoints: 0, threads: 0, items: 0 },
        { rule: 2, checkpoints: 2, threads: 0, items: 0 },
        { rule: 3, checkpoints: 0, threads: 0, items: 1 },
        { rule: 4, checkpoints: 1, threads: 1, items: 1 },
      ],
      held: [{ id: hold.id, backend: "store 1", count: 1 }],
      skipped: 0,
    };
    expect(dry).toMatchObject({ dryRun: true, ...wanted });
    expect(dry.entries.map(({ where, rule, why }) => [where, rule, why]).sort()).toEqual(
      [
        ["talk/1", 2, "not among the newest 1"],
        ['[["facts"],"ben"]', 3, "older than 0 days"],
        ["scratch/1", 4, "older than 0 days"],
        ['[["cache"],"c1"]', 4, "older than 0 days"],
      ].sort(),
    );
    expect(await checkpointer.exists("scratch/1")).toBe(true);
    const { receipt } = await data.applyRetention({ rules, reason: "the yearly clearing" });
    expect(receipt).toMatchObject({ kind: "retention", number: 1, reason: "the yearly clearing", ...wanted });
    expect(faultInReceipts(await data.retentionReceipts(), data.publicKey)).toBeUndefined();
    expect(JSON.stringify(receipt)).not.toContain("talk/1");
    expect(await checkpointer.exists("scratch/1")).toBe(false);
    expect((await checkpointer.listCheckpoints("talk/1")).length).toBe(1);
    expect(await checkpointer.exists("audit/1")).toBe(true);
    expect([await store.exists(["facts"], "ann"), await store.exists(["facts"], "ben")]).toEqual([true, false]);
    expect([await store.exists(["cache"], "c1"), await store.exists(["knowledge"], "k1")]).toEqual([false, true]);
    // A run that was interrupted is finished by the next one: what went is not found again.
    const again = await data.applyRetention({ rules });
    expect(again.totals.every(({ checkpoints, items }) => checkpoints + items === 0)).toBe(true);
    expect(again.receipt).toMatchObject({ number: 2 });
    await backends.dispose();
  });
}
