import { expect, test } from "vitest";
import { MapStorage, observed, without } from "../../../test/dict-storages.ts";
import { seededRandom } from "../../../test/processes/seeded-random.ts";
import { seed as givenSeed } from "../../../test/property-seed.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { textOf, userMessage } from "../../state/message.ts";
import type { Checkpointer } from "../checkpointer.ts";
import { StorageBackendAdapter } from "./adapter.ts";

const STEPS = 80;
const THREADS = ["a", "b", "c"];

/** What a thread should hold: names and last messages, oldest first. */
type Model = Map<string, readonly string[]>;

async function look(checkpointer: Checkpointer, threadId: string): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const { checkpointId } of checkpointer.history(threadId)) {
    const state = await checkpointer.load(threadId, { checkpointId });
    seen.unshift(`${checkpointId} ${textOf(state!.messages.at(-1)!)} of ${state!.messages.length}`);
  }
  return seen;
}

/** Fails about every sixth call, before or after it took effect, in a way that invites a retry. */
function unreliable(cells: Map<string, string>, random: () => number): ReturnType<typeof observed> {
  const fail = (): never => {
    throw Object.assign(new Error("the connection was cut"), { code: "ECONNRESET" });
  };
  return observed(new MapStorage(cells), () => {
    const dice = random();
    if (dice < 0.08) fail();
    return dice < 0.16 ? fail : undefined;
  });
}

async function walk(seed: number, compare: boolean): Promise<{ failed: number }> {
  const { next: random, below } = seededRandom(seed);
  const pick = <T>(items: readonly T[]): T | undefined => items[below(items.length)];
  const cells = new Map<string, string>();
  const storage = unreliable(cells, random);
  const adapter = new StorageBackendAdapter(compare ? storage : without(storage, "compareAndSave"), {
    retry: { attempts: 2, baseDelayMs: 0 },
  });
  const reliable = new StorageBackendAdapter(new MapStorage(cells));
  const model: Model = new Map(THREADS.map((threadId) => [threadId, []]));
  const of = (threadId: string): readonly string[] => model.get(threadId) ?? [];
  let failed = 0;

  /** Does it; afterwards every thread is as before or as `after` says, and surely as `after` says if it was acknowledged. */
  const attempt = async (name: string, after: Model, work: () => Promise<unknown>): Promise<void> => {
    let acknowledged = true;
    try {
      await work();
    } catch (error) {
      if (!StateError.is(error, "UNAVAILABLE") && !StateError.is(error, "CONFLICT")) throw error;
      acknowledged = false;
      failed++;
    }
    for (const [threadId, wanted] of after) {
      const actual = await look(reliable, threadId);
      const allowed = acknowledged ? [wanted] : [wanted, of(threadId)];
      expect(allowed, `seed ${seed}: ${name} in ${threadId}`).toContainEqual(actual);
      model.set(threadId, actual);
    }
  };

  for (let step = 0; step < STEPS; step++) {
    const threadId = pick(THREADS)!;
    const before = of(threadId);
    const checkpointId = pick(before)?.split(" ")[0];
    const dice = random();
    if (dice < 0.6 || checkpointId === undefined) {
      const state = (await reliable.load(threadId)) ?? AgentState.create();
      const next = state.withMessage(userMessage(`m${step}`));
      const after = [...before, `k${step} m${step} of ${next.messages.length}`];
      await attempt("save", new Map([[threadId, after]]), async () => {
        const own = (await adapter.load(threadId)) ?? AgentState.create();
        await adapter.save(own.withMessage(userMessage(`m${step}`)), threadId, { checkpointId: `k${step}` });
      });
    } else if (dice < 0.75) {
      const after = before.filter((line) => !line.startsWith(`${checkpointId} `));
      await attempt("delete one", new Map([[threadId, after]]), () => adapter.delete(threadId, { checkpointId }));
    } else if (dice < 0.82) {
      await attempt("delete all", new Map([[threadId, []]]), () => adapter.delete(threadId));
    } else if (dice < 0.9) {
      const target = pick(THREADS.filter((other) => other !== threadId))!;
      if (of(target).length > 0) continue;
      await attempt("copy", new Map([[target, before]]), () => adapter.copyThread(threadId, target));
    } else {
      const after = new Map(THREADS.map((other) => [other, of(other).slice(-3)]));
      await attempt("vacuum", after, () => adapter.vacuum({ keepLast: 3 }));
    }
  }
  for (const threadId of THREADS) await reliable.delete(threadId);
  expect([...cells.keys()], `seed ${seed}: nothing is left behind`).toEqual([]);
  return { failed };
}

console.log(`dict storage that fails at random: HOLDFAST_SEED=${givenSeed}`);

for (const seed of [1, 2, givenSeed]) {
  for (const compare of [true, false]) {
    const how = compare ? "with" : "without";
    test(`a storage that fails at random loses and doubles nothing (${how} compareAndSave, seed ${seed})`, async () => {
      expect((await walk(seed, compare)).failed).toBeGreaterThan(0);
    });
  }
}
