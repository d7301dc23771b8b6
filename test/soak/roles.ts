import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { textOf, userMessage } from "../../src/state/message.ts";
import type { SeededRandom } from "../processes/seeded-random.ts";
import type { CallEnd, ClockedCalls } from "./clocked.ts";

/** What all roles share. Each has a checkpointer of its own, as a process of its own would. */
export interface Stage {
  readonly calls: ClockedCalls;
  readonly random: SeededRandom;
  /**
   * Failures that a storage under attack may answer with; none where it is left in peace.
   */
  readonly outages: readonly ErrorCode[];
  readonly isOver: () => boolean;
}

/** Messages of a thread before its writer begins another, so that a load stays short and storage stays small. */
const THREAD_LENGTH = 300;

const REPEATED_SAVES = 1000;

/** Repeats one call until the storage answers it; an outage that outlasts all repetitions fails the soak. */
async function persistently<T>(
  stage: Stage,
  what: string,
  call: () => Promise<T>,
  expected: readonly ErrorCode[] = [],
): Promise<CallEnd<T>> {
  for (let repetition = 0; repetition < REPEATED_SAVES; repetition++) {
    const end = await stage.calls.make(what, call, [...stage.outages, ...expected]);
    if ("answer" in end || expected.includes(end.failed)) return end;
    await sleep(20);
  }
  throw new Error(`${what} failed ${REPEATED_SAVES} times in a row`);
}

/**
 * Threads that their writer has finished, for the role that proves and deletes them.
 */
export interface FinishedThread {
  readonly threadId: string;
  readonly messages: number;
}

const textAt = (threadId: string, number: number): string => `${threadId} says word${number % 7} number ${number}`;

export const textsOf = ({ threadId, messages }: FinishedThread): readonly string[] =>
  Array.from({ length: messages }, (_, number) => textAt(threadId, number));

/** Saves as fast as it can, one thread after another. Says what must be there in the end. */
export async function writer(
  stage: Stage,
  checkpointer: Checkpointer,
  name: string,
  finished: FinishedThread[],
): Promise<{ readonly saves: number }> {
  let saves = 0;
  for (let thread = 0; !stage.isOver(); thread++) {
    const threadId = `${name}-${thread}`;
    let [state, messages] = [AgentState.create(), 0];
    while (!stage.isOver() && messages < THREAD_LENGTH) {
      state = state.withMessage(userMessage(textAt(threadId, messages)));
      const saved = state;
      await persistently(stage, "save", () => checkpointer.save(saved, threadId));
      messages++;
      saves++;
    }
    finished.push({ threadId, messages });
  }
  return { saves };
}

/** Adds to threads that a rival adds to as well. Says which of its words were acknowledged, by thread. */
export async function rival(
  stage: Stage,
  checkpointer: Checkpointer,
  name: string,
): Promise<{ readonly acknowledged: ReadonlyMap<string, number>; readonly conflicts: number }> {
  const acknowledged = new Map<string, number>();
  let [conflicts, thread] = [0, 0];
  // As a caller does whose save the vacuum left in doubt.
  const isThere = async (text: string, threadId: string): Promise<boolean> => {
    const loaded = await persistently(stage, "load", () => checkpointer.load(threadId));
    return "answer" in loaded && loaded.answer?.messages.some((message) => textOf(message) === text) === true;
  };
  while (!stage.isOver()) {
    const threadId = `shared-${thread}`;
    const loaded = await persistently(stage, "load", () => checkpointer.load(threadId));
    const before = ("answer" in loaded ? loaded.answer : undefined) ?? AgentState.create();
    if (before.messages.length >= THREAD_LENGTH) {
      thread++;
      continue;
    }
    const count = acknowledged.get(threadId) ?? 0;
    const after = before.withMessage(userMessage(`${name} ${count}`));
    const saved = await persistently(stage, "rival save", () => checkpointer.save(after, threadId), ["CONFLICT"]);
    const isSaid = "answer" in saved || (saved.written === "unknown" && (await isThere(`${name} ${count}`, threadId)));
    if (isSaid) acknowledged.set(threadId, count + 1);
    else conflicts++;
    // The loser sleeps a little, so that both get somewhere.
    await sleep(isSaid ? stage.random.below(3) : stage.random.below(10));
  }
  return { acknowledged, conflicts };
}

export async function searcher(stage: Stage, checkpointer: Checkpointer): Promise<void> {
  while (!stage.isOver()) {
    const word = `word${stage.random.below(7)}`;
    const found = await stage.calls.make("search", () => checkpointer.search(word, { limit: 5 }), stage.outages);
    if ("answer" in found) for (const { threadId } of found.answer) expect(typeof threadId).toBe("string");
    await sleep(stage.random.below(200));
  }
}

export async function vacuumer(stage: Stage, checkpointer: Checkpointer): Promise<void> {
  while (!stage.isOver()) {
    await stage.calls.make("vacuum", () => checkpointer.vacuum({ keepLast: 20 }), stage.outages);
    await sleep(stage.random.below(1000));
  }
}

/** Forks whatever is being written, looks at the fork and deletes it. */
export async function forker(stage: Stage, checkpointer: Checkpointer): Promise<void> {
  for (let fork = 0; !stage.isOver(); fork++) {
    await sleep(stage.random.below(300));
    const listed = await stage.calls.make("list", () => checkpointer.listThreads({ limit: 50 }), stage.outages);
    const sources = "answer" in listed ? listed.answer.filter((id) => !id.startsWith("fork-")) : [];
    const source = sources[stage.random.below(sources.length)];
    if (source === undefined) continue;
    const target = `fork-${fork}`;
    // The source may be deleted meanwhile, and a fork whose answer was lost finds itself when it is repeated.
    const gone: readonly ErrorCode[] = ["NOT_FOUND", "CONFLICT"];
    const forked = await persistently(stage, "fork", () => checkpointer.fork(source, target), gone);
    if ("failed" in forked && forked.failed === "NOT_FOUND") continue;
    const loaded = await persistently(stage, "load", () => checkpointer.load(target));
    const texts = ("answer" in loaded ? loaded.answer?.messages.map(textOf) : undefined) ?? [];
    if (!source.startsWith("shared-")) {
      expect(texts).toEqual(textsOf({ threadId: source, messages: texts.length }));
    }
    await persistently(stage, "delete", () => checkpointer.delete(target));
  }
}

/** Proves what writers finished, deletes it, and proves that it is gone. */
export async function deleter(
  stage: Stage,
  checkpointer: Checkpointer,
  finished: FinishedThread[],
): Promise<{ readonly proven: number }> {
  let proven = 0;
  while (!stage.isOver()) {
    const thread = finished.length > 4 ? finished.shift() : undefined;
    if (thread === undefined) {
      await sleep(50);
      continue;
    }
    await prove(stage, checkpointer, thread);
    proven++;
    await persistently(stage, "delete", () => checkpointer.delete(thread.threadId));
    const after = await persistently(stage, "load", () => checkpointer.load(thread.threadId));
    expect(after, `${thread.threadId} stays deleted`).toEqual({ answer: undefined });
  }
  return { proven };
}

export async function prove(stage: Stage, checkpointer: Checkpointer, thread: FinishedThread): Promise<void> {
  const loaded = await persistently(stage, "load", () => checkpointer.load(thread.threadId));
  const texts = "answer" in loaded ? loaded.answer?.messages.map(textOf) : undefined;
  expect(texts, `every acknowledged message of ${thread.threadId}, once`).toEqual(textsOf(thread));
}
