import { once } from "node:events";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { type HeldLease, holdLease } from "../../../test/held-lease.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import { openHeader } from "../record/record.ts";

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

describe("a holder that was stopped past its time", () => {
  test("is refused once another has taken over, and so is every write it still has in hand", async () => {
    const before = said("before");
    await checkpointer.save(before, "t");
    const slow = await held("slow", 1_000);
    const loaded = (await checkpointer.load("t"))!;
    time += 5_000;
    await checkpointer.withLease("t", async (lease) => {
      expect(lease.token).not.toBe(slow.lease.token);
      await checkpointer.save((await checkpointer.load("t"))!.withMessage(userMessage("fast")), "t", { lease });
      for (const state of [loaded, before, said("anew")]) {
        const stale = state.withMessage(userMessage("slow"));
        const failure = await failureOf(() => checkpointer.save(stale, "t", { lease: slow.lease }));
        expect(failure).toMatchObject({ code: "CONFLICT" });
      }
    });
    await slow.letGo();
    expect(await texts()).toEqual(["before", "fast"]);
  });

  test("is refused after the one who took over has finished, too", async () => {
    await checkpointer.save(said("before"), "t");
    const slow = await held("slow", 1_000);
    const loaded = (await checkpointer.load("t"))!;
    time += 5_000;
    await checkpointer.withLease("t", async () => undefined, { owner: "fast" });
    const failure = await failureOf(() =>
      checkpointer.save(loaded.withMessage(userMessage("slow")), "t", { lease: slow.lease }),
    );
    expect(failure.message).toContain('the lease of "slow" is no longer held');
    await slow.letGo();
  });

  test("is refused after another writer saved without a lease when it had run out", async () => {
    await checkpointer.save(said("before"), "t");
    const slow = await held("slow", 1_000);
    const loaded = (await checkpointer.load("t"))!;
    time += 5_000;
    await checkpointer.save((await checkpointer.load("t"))!.withMessage(userMessage("other")), "t");
    expect(
      await failureOf(() => checkpointer.save(loaded.withMessage(userMessage("slow")), "t", { lease: slow.lease })),
    ).toMatchObject({ code: "CONFLICT" });
    await slow.letGo();
    expect(await texts()).toEqual(["before", "other"]);
  });

  test("may go on where no other writer took over: nothing was lost", async () => {
    await checkpointer.save(said("before"), "t");
    const slow = await held("slow", 1_000);
    const loaded = (await checkpointer.load("t"))!;
    time += 5_000;
    await checkpointer.save(loaded.withMessage(userMessage("late")), "t", { lease: slow.lease });
    await slow.letGo();
    expect(await texts()).toEqual(["before", "late"]);
  });

  test("is refused even when a namesake took over a thread that had been empty", async () => {
    const slow = await held("worker-1", 1_000);
    time += 5_000;
    await checkpointer.withLease("t", async () => undefined, { owner: "worker-2" });
    await checkpointer.withLease(
      "t",
      async (lease) => {
        const stale = failureOf(() => checkpointer.save(said("slow"), "t", { lease: slow.lease }));
        expect(await stale).toMatchObject({ code: "CONFLICT" });
        await checkpointer.save(said("fast"), "t", { lease });
      },
      { owner: "worker-1" },
    );
    await slow.letGo();
    expect(await texts()).toEqual(["fast"]);
  });

  test("is refused when the thread was deleted and made anew", async () => {
    await checkpointer.save(said("before"), "t");
    const slow = await held("slow", 60_000);
    await checkpointer.delete("t");
    await checkpointer.save(said("anew"), "t");
    expect(await failureOf(() => checkpointer.save(said("slow"), "t", { lease: slow.lease }))).toMatchObject({
      code: "CONFLICT",
    });
    await slow.letGo();
    expect(await texts()).toEqual(["anew"]);
  });
});

describe("renewal", () => {
  const expiry = async (): Promise<number> => openHeader((await log.tail("t"))!.entry).thread!.lease!.expiresAt;

  test("a holder that lives keeps the lease for longer than it asked for at first", async () => {
    await checkpointer.save(said("before"), "t");
    const holder = await held("alive", 30);
    time += 20;
    await vi.waitFor(async () => expect(await expiry()).toBe(START + 20 + 30), { timeout: 60_000 });
    time += 20;
    expect(await failureOf(() => checkpointer.withLease("t", async () => undefined))).toMatchObject({
      code: "CONFLICT",
    });
    await holder.letGo();
  });

  test("a holder that lost the lease is told by its signal", async () => {
    await checkpointer.save(said("before"), "t");
    const slow = await held("slow", 30);
    time += 5_000;
    await checkpointer.withLease("t", async () => undefined, { owner: "fast" });
    if (!slow.lease.signal.aborted) await once(slow.lease.signal, "abort");
    expect(slow.lease.signal.reason).toMatchObject({ code: "CONFLICT" });
    await slow.letGo();
  });

  test("each write of the holder renews it", async () => {
    await checkpointer.save(said("before"), "t");
    const holder = await held("busy", 60_000);
    time += 40_000;
    await checkpointer.save((await checkpointer.load("t"))!, "t", { lease: holder.lease });
    expect(await expiry()).toBe(START + 40_000 + 60_000);
    await holder.letGo();
  });
});

describe("clocks", () => {
  test("a holder whose clock is hours off holds for as long as it asked, by the storage's clock", async () => {
    const capabilities = { ...new MemoryLog().capabilities, clock: true };
    const storage = Object.assign(new MemoryLog(), { now: async () => START, capabilities });
    const behind = new Checkpointer(storage, { now: () => START - 7_200_000 });
    const ahead = new Checkpointer(storage, { now: () => START + 7_200_000 });
    await behind.save(said("before"), "t");
    await behind.withLease("t", async (lease) => {
      await behind.save((await behind.load("t"))!, "t", { lease });
      const refusal = await failureOf(() => ahead.withLease("t", async () => undefined));
      expect(refusal.message).toContain(new Date(START + 30_000).toISOString());
    });
    expect(await ahead.withLease("t", async () => "free")).toBe("free");
  });

  test("a clock that goes back frees nothing and harms nothing", async () => {
    await checkpointer.save(said("before"), "t");
    const holder = await held("o", 1_000);
    time -= 86_400_000;
    expect(await failureOf(() => checkpointer.withLease("t", async () => undefined))).toMatchObject({
      code: "CONFLICT",
    });
    await checkpointer.save((await checkpointer.load("t"))!, "t", { lease: holder.lease });
    await holder.letGo();
  });
});
