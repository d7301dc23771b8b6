import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { StateError } from "../../src/errors.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { textOf, userMessage } from "../../src/state/message.ts";
import type { SeededRandom } from "../processes/seeded-random.ts";
import { openShared, sharedOnServer } from "../processes/shared-storage.ts";
import type { TestServer } from "../services/server-process.ts";

export interface Outages {
  /** Each writer has a thread of its own. */
  readonly writers: number;
  readonly savesPerWriter: number;
  /** How long a writer waits before each save at most, in ms; so that many kills meet few saves. */
  readonly pauseMs: number;
  /** How long the server lives between two kills, in ms: at random up to this. */
  readonly upMs: number;
  /** How long it is away. */
  readonly downMs: number;
  readonly random: SeededRandom;
}

export interface OutageReport {
  readonly saves: number;
  readonly kills: number;
  /** Saves that ended in an error, after the checkpointer had tried again by itself. */
  readonly failed: number;
  /** Of those, the ones that were in the thread all the same. */
  readonly appliedUnseen: number;
}

/** No call waits longer than this for a server that comes back within seconds. */
const PATIENCE_MS = 200_000;

/**
 * The server is killed and started again while several writers save. Every save
 * completes, or fails with an error that says whether it may have been written;
 * then the writer repeats it. In the end everything is there once.
 */
export async function saveThroughOutages(server: TestServer, outages: Outages): Promise<OutageReport> {
  const { url } = sharedOnServer(server.url);
  const checkpointer = await openShared(url);
  const names = Array.from({ length: outages.writers }, (_, index) => `writer ${index}`);
  let [kills, isOver] = [0, false];
  const killing = (async () => {
    while (!isOver) {
      await sleep(outages.upMs / 2 + outages.random.below(Math.ceil(outages.upMs / 2)));
      await server.kill();
      kills++;
      await sleep(outages.random.below(outages.downMs));
      await server.restart();
    }
  })();
  try {
    const reports = await Promise.all(names.map((name) => write(checkpointer, name, outages)));
    isOver = true;
    await killing;
    await using afterwards = await openShared(url);
    for (const name of names) await proveAllThere(afterwards, name, outages.savesPerWriter);
    const sum = (of: (report: WriterReport) => number): number => reports.reduce((total, one) => total + of(one), 0);
    const saves = outages.writers * outages.savesPerWriter;
    return { saves, kills, failed: sum(({ failed }) => failed), appliedUnseen: sum((one) => one.appliedUnseen) };
  } finally {
    isOver = true;
    await killing;
    await checkpointer.close();
  }
}

interface WriterReport {
  readonly failed: number;
  readonly appliedUnseen: number;
}

async function write(
  checkpointer: Checkpointer,
  threadId: string,
  { savesPerWriter, pauseMs, random }: Outages,
): Promise<WriterReport> {
  let [failed, appliedUnseen] = [0, 0];
  let state = AgentState.create();
  for (let number = 0; number < savesPerWriter; number++) {
    await sleep(random.below(pauseMs));
    state = state.withMessage(userMessage(`${threadId}: ${number}`));
    let isOfUnknownOutcome = false;
    for (const began = performance.now(); ; ) {
      try {
        await checkpointer.save(state, threadId);
        break;
      } catch (error) {
        const mayHaveBeenMade = number === 0 && isOfUnknownOutcome;
        const { code, context } = mayHaveBeenMade ? asNotThere(error) : asOutage(error);
        const { written } = context;
        if (written === "unknown") isOfUnknownOutcome = true;
        if (code === "CONFLICT") isOfUnknownOutcome = false;
        failed++;
        const found = await patiently(began, () => checkpointer.load(threadId));
        const isThere = (found?.messages.length ?? 0) > number;
        expect(["no", "unknown"]).toContain(written);
        if (written === "no") expect(isThere, 'an error that says "no" must be right').toBe(false);
        if (isThere) appliedUnseen++;
      }
    }
  }
  return { failed, appliedUnseen };
}

async function patiently<T>(began: number, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      asOutage(error);
      if (performance.now() - began > PATIENCE_MS) throw error;
      await sleep(50);
    }
  }
}

/** Anything but "try again" would be a wrong answer to a server that is away. */
function asOutage(error: unknown): StateError {
  if (!StateError.is(error) || !error.retryable) throw error;
  return error;
}

/**
 * Where the making of a thread got no answer and there is none, it was never made, or was deleted since. A repetition
 * brings back no deleted thread unasked, so it is refused once; the writer knows that nothing was deleted, and saves again.
 */
function asNotThere(error: unknown): StateError {
  if (!StateError.is(error, "CONFLICT") || error.context.actual !== null) return asOutage(error);
  expect(error.context.written).toBe("no");
  return error;
}

async function proveAllThere(checkpointer: Checkpointer, threadId: string, saves: number): Promise<void> {
  const found = await checkpointer.load(threadId);
  expect(found?.messages.map(textOf)).toEqual(Array.from({ length: saves }, (_, number) => `${threadId}: ${number}`));
  expect(await checkpointer.listCheckpoints(threadId, { limit: 10_000 })).toHaveLength(saves);
}
