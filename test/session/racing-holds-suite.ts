import { expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { newCheckpointId } from "../../src/saver/saver.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY } from "./people.ts";

const ask = { by: "counsel@example.com", reason: "case 17" };
const SCOPES = [{ threadPrefix: "case/" }, { threadPrefix: "" }, { subject: "ann" }] as const;
const THREADS = ["case/1", "case/2", "case/3"];

const dataOn = (checkpointer: Checkpointer): PersonalData =>
  new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });

/** Two checkpoints of each thread, all of them about Ann. */
async function fill(checkpointer: Checkpointer): Promise<void> {
  for (const threadId of THREADS) {
    let state = AgentState.create();
    for (const text of ["tea", "rum"]) {
      state = state.withMessage(userMessage(`Ann: ${text}`, { metadata: { subject: "ann" } }));
      await checkpointer.save(state, threadId);
    }
  }
  // What was saved in this millisecond is not older than it.
  const last = Date.now();
  while (Date.now() === last) await new Promise(setImmediate);
}

/** Everything that the threads hold, in the words of their reader. */
async function everything(checkpointer: Checkpointer): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (const threadId of THREADS) {
    for (const { checkpointId } of await checkpointer.listCheckpoints(threadId)) {
      found.push([threadId, checkpointId, (await checkpointer.load(threadId, checkpointId))?.messages]);
    }
  }
  return found;
}

/**
 * Lets `work` decide, and stops it right before its first removal. Only then the hold
 * is placed, by another process on the same storage.
 */
async function holdingBeforeRemoval(
  worker: Checkpointer,
  work: () => Promise<unknown>,
  placeHold: () => Promise<unknown>,
): Promise<{ readonly removals: number }> {
  const log = contextOf(worker)?.log;
  if (log === undefined) throw new Error("it has no log");
  const [append, remove] = [log.append.bind(log), log.remove.bind(log)];
  let removals = 0;
  let placed: Promise<unknown> | undefined;
  const afterHold = async (): Promise<void> => {
    removals++;
    placed ??= placeHold();
    await placed;
  };
  log.append = async (threadId, request) => {
    const { drop = [], dropBelow, replace = [] } = request;
    const takes = dropBelow !== undefined || drop.length > 0 || replace.length > 0;
    if (takes && THREADS.includes(threadId)) await afterHold();
    return append(threadId, request);
  };
  log.remove = async (threadId, ifTail) => {
    if (THREADS.includes(threadId)) await afterHold();
    return remove(threadId, ifTail);
  };
  await work().catch(() => undefined);
  await placed;
  return { removals };
}

/** The one suite for every backend. `open` is what another process would open on the same storage. */
export function racingHolds(create: () => Promise<{ readonly open: () => Promise<Checkpointer> }>): void {
  const works: readonly (readonly [string, (checkpointer: Checkpointer) => Promise<unknown>])[] = [
    ["a vacuum of whole threads", (checkpointer) => checkpointer.vacuum({ olderThanDays: 0 })],
    ["a vacuum of old checkpoints", (checkpointer) => checkpointer.vacuum({ keepLast: 1 })],
    [
      "retention",
      (checkpointer) => dataOn(checkpointer).applyRetention({ rules: [{ category: "process", keepLast: 1 }] }),
    ],
    ["a deletion", (checkpointer) => checkpointer.delete("case/1")],
    [
      "a deletion of a checkpoint",
      async (checkpointer) => {
        const [newest] = await checkpointer.listCheckpoints("case/1");
        await checkpointer.delete("case/1", newest?.checkpointId ?? "");
      },
    ],
    ["an erasure", (checkpointer) => dataOn(checkpointer).eraseUser("ann")],
  ];
  for (const [what, work] of works) {
    test(`nothing goes by ${what} that decided before a hold was placed and had not begun to take it away`, async () => {
      for (const scope of SCOPES) {
        const { open } = await create();
        const [worker, other] = [await open(), await open()];
        await fill(other);
        const before = await everything(other);
        const placeHold = (): Promise<unknown> => dataOn(other).placeHold({ ...scope, ...ask });
        const { removals } = await holdingBeforeRemoval(worker, () => work(worker), placeHold);
        expect(removals, "it came to the point where it takes something away").toBeGreaterThan(0);
        expect(await everything(other), JSON.stringify(scope)).toEqual(before);
        expect(await dataOn(other).holds()).toMatchObject([scope]);
        for (const each of [worker, other]) await each.close();
      }
    });
  }

  test("nothing goes of a graph's thread by a vacuum or an erasure that decided before a hold was placed", async () => {
    const graphWorks = works.filter(([what]) => what.startsWith("a vacuum") || what === "an erasure");
    for (const [what, work] of graphWorks) {
      const { open } = await create();
      const [worker, other] = [await open(), await open()];
      const saver = saverOf(other);
      for (const text of ["tea", "rum"]) {
        const metadata = { subject: "ann" };
        await saver.put({ threadId: "case/1", checkpointId: newCheckpointId(), checkpointData: { text }, metadata });
      }
      const told = async (): Promise<unknown> =>
        Promise.all((await saver.listCheckpoints({ threadId: "case/1" })).map((each) => each.load()));
      const before = await told();
      const placeHold = (): Promise<unknown> => dataOn(other).placeHold({ threadPrefix: "case/", ...ask });
      const { removals } = await holdingBeforeRemoval(worker, () => work(worker), placeHold);
      expect(removals, what).toBeGreaterThan(0);
      expect(await told(), what).toEqual(before);
      for (const each of [worker, other]) await each.close();
    }
  });

  test("a hold on a person marks the threads about them and no others, and a mark is no checkpoint", async () => {
    const { open } = await create();
    const checkpointer = await open();
    await fill(checkpointer);
    await checkpointer.save(AgentState.create().withMessage(userMessage("no subject")), "plain");
    const log = contextOf(checkpointer)?.log;
    const tails = async (): Promise<readonly unknown[]> =>
      Promise.all([...THREADS, "plain"].map(async (threadId) => (await log?.tail(threadId))?.entry.seq));
    const [before, listed] = [await tails(), await everything(checkpointer)];
    const data = dataOn(checkpointer);
    const hold = await data.placeHold({ subject: "ann", ...ask });
    expect(before).toEqual([2, 2, 2, 1]);
    expect(await tails()).toEqual([3, 3, 3, 1]);
    await data.placeHold({ threadPrefix: "", ...ask });
    expect(await tails()).toEqual([4, 4, 4, 2]);
    expect(await everything(checkpointer)).toEqual(listed);
    await data.liftHold(hold.id, ask);
    expect(await tails()).toEqual([4, 4, 4, 2]);
    const state = await checkpointer.load("case/1");
    await checkpointer.save((state ?? AgentState.create()).withMessage(userMessage("more")), "case/1");
    expect(await checkpointer.verify("case/1")).toMatchObject({ faults: [], lost: [] });
    await checkpointer.close();
  });
}
