import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { textOf } from "../../src/state/message.ts";
import { collectGarbage } from "../collect-garbage.ts";
import type { SeededRandom } from "../processes/seeded-random.ts";
import { ClockedCalls } from "./clocked.ts";
import { deleter, type FinishedThread, forker, prove, rival, type Stage, searcher, vacuumer, writer } from "./roles.ts";

export interface SoakedStorage {
  open(): Promise<Checkpointer>;
  /** One blow: a cut wire, a killed server. Left out where there is neither. */
  readonly disturb?: (random: SeededRandom) => Promise<void>;
  dispose(): Promise<void>;
}

export interface SoakPlan {
  readonly durationMs: number;
  /** No call takes longer, whatever happens meanwhile. */
  readonly boundMs: number;
  /** The pause between two blows, at random up to twice as long. */
  readonly disturbEveryMs: number;
  /** Calls that were made when it ends: it goes on until then, however slow the machine is. */
  readonly atLeast?: readonly string[];
  readonly random: SeededRandom;
}

export interface SoakReport {
  readonly saves: number;
  readonly conflicts: number;
  readonly proven: number;
  readonly disturbances: number;
  readonly calls: ClockedCalls["figures"];
  readonly longestMs: number;
  /** After a garbage collection, at a quarter of the time and at the end. */
  readonly heapBytes: readonly [early: number, late: number];
}

const OUTAGES: readonly ErrorCode[] = ["UNAVAILABLE", "TIMEOUT"];

/**
 * All roles at once on one storage: two writers at full speed, two rivals on one
 * thread, a searcher, a vacuumer, a forker and a deleter, while wires are cut and
 * servers die. In the end every acknowledged save is there once.
 */
export async function soak(storage: SoakedStorage, plan: SoakPlan): Promise<SoakReport> {
  const { random, durationMs, atLeast = [] } = plan;
  const began = performance.now();
  let [hasFailed, disturbances] = [false, 0];
  const calls = new ClockedCalls(plan.boundMs);
  const isOver = (): boolean =>
    hasFailed || (performance.now() - began > durationMs && atLeast.every((what) => calls.figures.has(what)));
  const outages = storage.disturb === undefined ? [] : OUTAGES;
  const stage: Stage = { calls, random, outages, isOver };
  const finished: FinishedThread[] = [];
  const opened: Checkpointer[] = [];
  const play = async <T>(role: (checkpointer: Checkpointer) => Promise<T>): Promise<T> => {
    const checkpointer = await storage.open();
    opened.push(checkpointer);
    try {
      return await role(checkpointer);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  const disturbing = async (): Promise<void> => {
    while (storage.disturb !== undefined && !isOver()) {
      await sleep(random.below(2 * plan.disturbEveryMs));
      if (isOver()) return;
      await storage.disturb(random);
      disturbances++;
    }
  };
  const early = heapAt(durationMs / 4);
  const parts = await allEnded([
    play((checkpointer) => writer(stage, checkpointer, "first", finished)),
    play((checkpointer) => writer(stage, checkpointer, "second", finished)),
    play((checkpointer) => rival(stage, checkpointer, "left")),
    play((checkpointer) => rival(stage, checkpointer, "right")),
    play((checkpointer) => deleter(stage, checkpointer, finished)),
    play((checkpointer) => searcher(stage, checkpointer)),
    play((checkpointer) => vacuumer(stage, checkpointer)),
    play((checkpointer) => forker(stage, checkpointer)),
    disturbing(),
  ]);
  const [first, second, left, right, { proven }] = parts;
  const late = heapAt(0);
  await Promise.all(opened.map((checkpointer) => stage.calls.make("close", () => checkpointer.close(), [])));
  const afterwards = await storage.open();
  for (const thread of finished) await prove(stage, afterwards, thread);
  await proveShared(afterwards, { left: left.acknowledged, right: right.acknowledged });
  await afterwards.close();
  return {
    saves: first.saves + second.saves + sumOf(left.acknowledged) + sumOf(right.acknowledged),
    conflicts: left.conflicts + right.conflicts,
    proven: proven + finished.length,
    disturbances,
    calls: calls.figures,
    longestMs: calls.longestMs,
    heapBytes: [await early, await late],
  };
}

/** Like `Promise.all`, but fails only when every role has ended: none must write to a storage that is taken away. */
async function allEnded<Parts extends readonly unknown[]>(
  parts: readonly [...{ [Index in keyof Parts]: Promise<Parts[Index]> }],
): Promise<Parts> {
  await Promise.allSettled(parts);
  return (await Promise.all(parts)) as unknown as Parts;
}

/** Each rival's words are there in its own order, exactly as many as it heard yes to. */
async function proveShared(
  checkpointer: Checkpointer,
  rivals: Readonly<Record<string, ReadonlyMap<string, number>>>,
): Promise<void> {
  const threads = new Set(Object.values(rivals).flatMap((acknowledged) => [...acknowledged.keys()]));
  for (const threadId of threads) {
    const texts = (await checkpointer.load(threadId))?.messages.map(textOf) ?? [];
    for (const [name, acknowledged] of Object.entries(rivals)) {
      const own = texts.filter((text) => text.startsWith(`${name} `));
      expect(own).toEqual(Array.from({ length: acknowledged.get(threadId) ?? 0 }, (_, number) => `${name} ${number}`));
    }
  }
}

const sumOf = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, one) => sum + one, 0);

async function heapAt(ms: number): Promise<number> {
  await sleep(ms);
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
