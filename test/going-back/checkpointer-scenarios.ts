import { expect } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import type { CheckpointSummary } from "../../src/checkpoint/base-checkpointer.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { Lease } from "../../src/checkpoint/lease/lease.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { and, growThread, historyOf, loaded, textsOf } from "../../src/testing/checkpointer-cases/conversations.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { gate } from "../agent/gate.ts";
import { failureOf } from "../failure-of.ts";
import type { Process, Scenario, World } from "./world.ts";

/** A line of a thread: its checkpoints, oldest first, and the state as of the last one. */
interface Line {
  readonly ids: readonly string[];
  readonly state: AgentState;
}

async function goOn(checkpointer: Checkpointer, threadId: string, from: Line, ...texts: string[]): Promise<Line> {
  let { state } = from;
  const ids = [...from.ids];
  for (const text of texts) {
    state = and(state, text);
    ids.push(await checkpointer.save(state, threadId));
  }
  return { ids, state };
}

/** The thread as another process finds it, and goes on with as many checkpoints as were lost. */
async function theirs({ other }: World, threadId: string, kept: Line, ...texts: string[]): Promise<Line> {
  const { checkpointer } = await other();
  const state = await loaded(checkpointer, threadId);
  expect(textsOf(state)).toEqual(textsOf(kept.state));
  return goOn(checkpointer, threadId, { ids: kept.ids, state }, ...texts);
}

/** To every process the thread is this line and nothing else, whole, and without a fault. */
export async function expectLine(processes: readonly Process[], threadId: string, line: Line): Promise<void> {
  const texts = textsOf(line.state);
  for (const { checkpointer } of processes) {
    expect(textsOf(await loaded(checkpointer, threadId))).toEqual(texts);
    expect(await historyOf(checkpointer, threadId)).toEqual([...line.ids].reverse());
    for (const checkpointId of line.ids) {
      const then = textsOf(await loaded(checkpointer, threadId, { checkpointId }));
      expect(then).toEqual(texts.slice(0, then.length));
    }
    expect((await checkpointer.verify(threadId))?.faults).toEqual([]);
  }
}

const refusedWith = async (work: () => Promise<unknown>): Promise<readonly unknown[]> => {
  const { code, context } = await failureOf(work);
  return [code, context.written];
};

const NOT_WRITTEN = ["CONFLICT", "no"];

const edited = (state: AgentState, text: string): AgentState =>
  state.withHistory([userMessage(text), ...state.messages.slice(1)]);

export const checkpointerScenarios: readonly Scenario[] = [
  {
    name: "a save after a lost checkpoint is CONFLICT, and the present state can be loaded and saved to",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const kept = await growThread(checkpointer, t, 2);
      yield;
      const lost = await goOn(checkpointer, t, kept, "lost 1", "lost 2");
      yield;
      const now = await theirs(world, t, kept, "other 1", "other 2");
      const both = [world.live, await world.other()];
      for (const state of [
        and(lost.state, "late"),
        lost.state,
        edited(lost.state, "edited"),
        edited(kept.state, "x"),
      ]) {
        expect(await refusedWith(() => checkpointer.save(state, t))).toEqual(NOT_WRITTEN);
      }
      for (const checkpointId of lost.ids.slice(2)) {
        expect(await checkpointer.load(t, { checkpointId })).toBeUndefined();
      }
      await expectLine(both, t, now);
      const next = await goOn(checkpointer, t, { ...now, state: await loaded(checkpointer, t) }, "on it goes");
      await expectLine(both, t, next);
    },
  },
  {
    name: "the first call being a save, it is CONFLICT, also where fewer or more were written since than were lost",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const counts = [0, 1, 3] as const;
      const kept = new Map<number, Line>();
      for (const count of counts) kept.set(count, await growThread(checkpointer, `${t} ${count}`, 2));
      yield;
      const lost = new Map<number, Line>();
      for (const [count, line] of kept) lost.set(count, await goOn(checkpointer, `${t} ${count}`, line, "l1", "l2"));
      yield;
      for (const [count, line] of kept) {
        const threadId = `${t} ${count}`;
        const now = await theirs(world, threadId, line, ...["o1", "o2", "o3"].slice(0, count));
        const late = and((lost.get(count) as Line).state, "late");
        expect(await refusedWith(() => checkpointer.save(late, threadId))).toEqual(NOT_WRITTEN);
        await expectLine([world.live, await world.other()], threadId, now);
      }
    },
  },
  {
    name: "a state loaded before can be saved if no other writer came in between, and is CONFLICT if one did",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const [alone, taken] = [`${t} alone`, `${t} taken`];
      const kept = [await growThread(checkpointer, alone, 2), await growThread(checkpointer, taken, 2)] as const;
      yield;
      for (const [index, threadId] of [alone, taken].entries()) {
        await goOn(checkpointer, threadId, kept[index] as Line, "lost");
      }
      yield;
      const now = await theirs(world, taken, kept[1], "other");
      expect(await refusedWith(() => checkpointer.save(and(kept[1].state, "mine"), taken))).toEqual(NOT_WRITTEN);
      const both = [world.live, await world.other()];
      await expectLine(both, taken, now);
      await expectLine(both, alone, await goOn(checkpointer, alone, kept[0], "mine"));
    },
  },
  {
    name: "a lost checkpoint cannot be deleted, forked or compared, and a deletion that names it as the head is CONFLICT",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const kept = await growThread(checkpointer, t, 3);
      yield;
      const lost = await goOn(checkpointer, t, kept, "lost 1", "lost 2");
      await checkpointer.load(t);
      const [lost1, lost2] = lost.ids.slice(3) as [string, string];
      yield;
      const now = await theirs(world, t, kept, "other 1", "other 2");
      const both = [world.live, await world.other()];
      expect(await checkpointer.delete(t, { checkpointId: lost1 })).toBe(false);
      expect(await refusedWith(() => checkpointer.delete(t, { expectedHead: lost2 }))).toEqual(NOT_WRITTEN);
      expect((await failureOf(() => checkpointer.fork(t, `${t} fork`, { at: lost1 }))).code).toBe("NOT_FOUND");
      expect((await failureOf(() => checkpointer.diff(t, kept.ids[0] as string, lost2))).code).toBe("NOT_FOUND");
      await expectLine(both, t, now);
      await checkpointer.fork(t, `${t} fork`);
      for (const each of both) {
        expect(textsOf(await loaded(each.checkpointer, `${t} fork`))).toEqual(textsOf(now.state));
      }
      expect(await checkpointer.copyThread(t, `${t} copy`)).toBe(true);
      await expectLine(both, `${t} copy`, now);
      const other1 = now.ids[3] as string;
      expect(await checkpointer.delete(t, { checkpointId: other1 })).toBe(true);
      await expectLine(both, t, { ...now, ids: now.ids.filter((id) => id !== other1) });
    },
  },
  {
    name: "a deletion that was lost is no deletion, and a fork that was lost is not there",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const [gone, source] = [`${t} gone`, `${t} source`];
      const kept = await growThread(checkpointer, gone, 3);
      await growThread(checkpointer, source, 2);
      yield;
      await checkpointer.delete(gone, { checkpointId: kept.ids[1] as string });
      await checkpointer.delete(gone);
      await checkpointer.fork(source, `${t} fork`);
      const forked = await loaded(checkpointer, `${t} fork`);
      yield;
      const now = await theirs(world, gone, kept, "other");
      await expectLine([world.live, await world.other()], gone, now);
      expect(await checkpointer.load(`${t} fork`)).toBeUndefined();
      expect((await failureOf(() => checkpointer.save(and(forked, "late"), `${t} fork`))).code).toBe("CONFLICT");
      expect(await checkpointer.exists(`${t} fork`)).toBe(false);
    },
  },
  {
    name: "a lease that was lost is renewed no more: its holder is told, and saves nothing",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const kept = await growThread(checkpointer, t, 2);
      yield;
      const [taken, end] = [gate(), gate()];
      let lease: Lease | undefined;
      const holding = checkpointer.withLease(
        t,
        async (own) => {
          await checkpointer.save(and(kept.state, "lost"), t, { lease: own });
          lease = own;
          taken.open();
          await end.opened;
        },
        { ttlMs: 1_500 },
      );
      await taken.opened;
      yield;
      if (lease === undefined) throw new Error("the lease was never taken");
      const lost: Lease = lease;
      const { token, signal } = lost;
      const { checkpointer: others } = await world.other();
      const now = await others.withLease(t, async (own) => {
        expect(own.token).not.toBe(token);
        const state = and(await loaded(others, t), "other");
        const checkpointId = await others.save(state, t, { lease: own });
        const late = () => checkpointer.save(and(state, "late"), t, { lease: lost });
        expect((await failureOf(late)).code).toBe("CONFLICT");
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
        expect((await failureOf(late)).code).toBe("CONFLICT");
        return { ids: [...kept.ids, checkpointId], state };
      });
      end.open();
      await holding;
      await expectLine([world.live, await world.other()], t, now);
      expect(await checkpointer.leaseOf(t)).toBeUndefined();
    },
  },
  {
    name: "a lease that was kept is held on: others are refused, and its holder saves on from what is there",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const kept = await growThread(checkpointer, t, 2);
      const [taken, lost, back, end] = [gate(), gate(), gate(), gate()];
      const results: unknown[] = [];
      let now: Line | undefined;
      const holding = checkpointer.withLease(t, async (lease) => {
        taken.open();
        await lost.opened;
        const gone = and(kept.state, "lost");
        await checkpointer.save(gone, t, { lease });
        back.open();
        await end.opened;
        results.push((await failureOf(() => checkpointer.save(and(gone, "late"), t, { lease }))).code);
        const state = and(await loaded(checkpointer, t), "mine");
        now = { ids: [...kept.ids, await checkpointer.save(state, t, { lease })], state };
      });
      await taken.opened;
      yield;
      lost.open();
      await back.opened;
      yield;
      const other = await world.other();
      expect((await failureOf(() => other.checkpointer.withLease(t, async () => "taken"))).code).toBe("CONFLICT");
      const state = and(await loaded(other.checkpointer, t), "other");
      expect((await failureOf(() => other.checkpointer.save(state, t))).code).toBe("CONFLICT");
      end.open();
      await holding;
      expect(results).toEqual(["CONFLICT"]);
      await expectLine([world.live, other], t, now as Line);
    },
  },
  {
    name: "a watch shows what is there since, each checkpoint once and in order",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const shown: CheckpointSummary[] = [];
      const stop = new AbortController();
      const kept = await growThread(checkpointer, t, 2);
      let isOver = false;
      const watching = (async () => {
        for await (const each of checkpointer.watch(t, { pollMs: 20, signal: stop.signal })) shown.push(each);
      })().finally(() => {
        isOver = true;
      });
      const isShown = async (id: string): Promise<void> => {
        while (!shown.some(({ checkpointId }) => checkpointId === id)) {
          if (isOver) return watching;
          await new Promise((each) => setTimeout(each, 20));
        }
      };
      // It begins at whatever is there by then.
      let begun = kept;
      while (shown.length === 0 && !isOver) {
        begun = await goOn(checkpointer, t, begun, `kept ${begun.ids.length}`);
        await new Promise((each) => setTimeout(each, 50));
      }
      const before = shown[0]?.checkpointId;
      await isShown(begun.ids.at(-1) as string);
      yield;
      const lost = await goOn(checkpointer, t, begun, "lost 1", "lost 2");
      await isShown(lost.ids.at(-1) as string);
      yield;
      const now = await theirs(world, t, begun, "other 1", "other 2");
      await isShown(now.ids.at(-1) as string);
      stop.abort();
      await watching;
      const expected = [...lost.ids, ...now.ids.slice(begun.ids.length)];
      const first = expected.indexOf(before as string);
      expect(shown.map(({ checkpointId }) => checkpointId)).toEqual(expected.slice(first));
    },
  },
  {
    name: "a search, a query and a list find what is there",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const word = (kind: string): string => `${kind}${t.replace(/\D/g, "")}`;
      const kept = await growThread(checkpointer, t, 2);
      yield;
      const lost = and(kept.state, word("quagga"));
      await checkpointer.save(lost, t, { metadata: { of: `${t} lost` } });
      await checkpointer.save(and(lost, "again"), `${t} new`);
      const found = async (text: string): Promise<readonly string[]> =>
        (await checkpointer.search(text, { threadPrefix: t })).map(({ threadId }) => threadId);
      if (checkpointer.capabilities.search) expect(await found(word("quagga"))).toContain(t);
      yield;
      const { checkpointer: others } = await world.other();
      const theirState = and(await loaded(others, t), word("okapi"));
      const id = await others.save(theirState, t, { metadata: { of: `${t} other` } });
      if (checkpointer.capabilities.search) {
        expect(await found(word("quagga"))).toEqual([]);
        expect(await found(word("okapi"))).toEqual([t]);
      }
      const asked = async (of: string) =>
        (await checkpointer.queryByMetadata("of", of, { threadPrefix: t })).map(({ checkpointId }) => checkpointId);
      if (checkpointer.capabilities.metadataQuery) {
        expect(await asked(`${t} lost`)).toEqual([]);
        expect(await asked(`${t} other`)).toEqual([id]);
      }
      const listed = await checkpointer.listWithMetadata({ pattern: `${t}*` });
      expect(listed.map(({ threadId, checkpointId }) => [threadId, checkpointId])).toEqual([[t, id]]);
      await expectLine([world.live, await world.other()], t, { ids: [...kept.ids, id], state: theirState });
    },
  },
  {
    name: "an erasure takes a person from what is there, and verifies it",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const [ann, bob] = [`ann of ${t}`, `bob of ${t}`];
      const about = (person: string, text: string) => userMessage(text, { metadata: { subject: person } });
      const begun = (await growThread(checkpointer, t, 1)).state.withMessage(about(ann, "kept of ann"));
      await checkpointer.save(begun, t);
      yield;
      await checkpointer.save(begun.withMessages([about(bob, "lost of bob"), about(ann, "lost of ann")]), t);
      await checkpointer.load(t);
      yield;
      const other = await world.other();
      const now = (await loaded(other.checkpointer, t)).withMessages([about(bob, "of bob"), about(ann, "more of ann")]);
      await other.checkpointer.save(now, t);
      const ledger = new InMemoryStore();
      const data = new PersonalData({ checkpointers: [checkpointer], ledger, key: "k".repeat(43) });
      expect((await data.inventory(ann)).total).toBeGreaterThan(0);
      expect((await data.eraseUser(ann)).verified).toBe(true);
      expect((await data.inventory(ann)).total).toBe(0);
      for (const { checkpointer: each } of [world.live, other]) {
        const texts = textsOf(await loaded(each, t));
        expect(texts.filter((text) => /ann|lost/.test(text))).toEqual([]);
        expect([texts[0], texts[2], texts.length]).toEqual(["message 1", "of bob", 4]);
        expect((await each.verify(t))?.faults).toEqual([]);
      }
      expect(await refusedWith(() => checkpointer.save(and(begun, "late"), t))).toEqual(NOT_WRITTEN);
      await data.close();
    },
  },
];

/** Takes from every thread of the storage, so it comes last. */
export const vacuumScenario: Scenario = {
  name: "a vacuum keeps the newest of what is there",
  run: async function* (world, t) {
    const { checkpointer } = world.live;
    const kept = await growThread(checkpointer, t, 3);
    yield;
    const lost = await goOn(checkpointer, t, kept, "lost 1", "lost 2", "lost 3");
    yield;
    const now = await theirs(world, t, kept, "other 1", "other 2", "other 3");
    await checkpointer.vacuum({ keepLast: 2 });
    await expectLine([world.live, await world.other()], t, { ...now, ids: now.ids.slice(-2) });
    expect(await refusedWith(() => checkpointer.save(and(lost.state, "late"), t))).toEqual(NOT_WRITTEN);
  },
};
