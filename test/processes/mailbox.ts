import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { Sent } from "../../src/checkpoint/signals/sending.ts";
import { StateError } from "../../src/errors.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { type ProgramProcess, Programs } from "./programs.ts";
import { seededRandom } from "./seeded-random.ts";
import { openShared } from "./shared-storage.ts";

const WORKERS = 3;
const LONGEST_WAIT_MS = 60_000;

export interface MailboxReport {
  readonly kills: number;
  readonly signals: number;
  /** Sent a second time under the same id. */
  readonly repeats: number;
  readonly effects: number;
  /** Calls that a kill left in doubt. */
  readonly inDoubt: number;
}

const MOST_ATTEMPTS = 20;

/** Sends until the storage has answered, as the failure says: under the same id it is sent once. Nothing if the mailbox is full. */
async function sendSurely(checkpointer: Checkpointer, id: string): Promise<Sent | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await checkpointer.send("t", { message: `words ${id}` }, { id });
    } catch (error) {
      if (StateError.is(error, "TOO_LARGE")) return undefined;
      if (!StateError.is(error, "TIMEOUT") || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

/**
 * Three live processes run one thread, and are killed at random instants, while
 * another one sends words to it, every third of them twice. When all is quiet,
 * each was said once and in order, none is lost, and no effect happened twice.
 */
export async function deliverUnderKills(
  url: string,
  { kills, seed, onKill }: { readonly kills: number; readonly seed: number; readonly onKill?: (count: number) => void },
): Promise<MailboxReport> {
  const random = seededRandom(seed);
  const directory = await mkdtemp(join(tmpdir(), "holdfast-mailbox-"));
  const effectsPath = join(directory, "effects");
  const programs = await Programs.pack("mailbox-program");
  const checkpointer = await openShared(url);
  await checkpointer.save(AgentState.create(), "t");
  const start = (): ProgramProcess => programs.start("mailbox-program", [url, effectsPath]);
  const workers = Array.from({ length: WORKERS }, start);
  const sent: string[] = [];
  let [repeats, isOver] = [0, false];
  const sending = (async () => {
    while (!isOver) {
      const id = `m${sent.length}`;
      if ((await sendSurely(checkpointer, id)) !== undefined) {
        sent.push(id);
        if (sent.length % 3 === 0) {
          expect((await sendSurely(checkpointer, id))?.isRepeated).toBe(true);
          repeats++;
        }
      }
      await sleep(random.below(40));
    }
  })();
  // What ends it is thrown where it is waited for.
  sending.catch(() => undefined);
  try {
    for (let kill = 0; kill < kills; kill++) {
      const victim = random.below(WORKERS);
      const worker = workers[victim] as ProgramProcess;
      await worker.hasSaid(1);
      await sleep(random.below(120));
      worker.signal("SIGKILL");
      await worker.ended();
      workers[victim] = start();
      onKill?.(kill + 1);
    }
    isOver = true;
    await sending;
    await untilQuiet();
    for (const worker of workers) {
      await worker.hasSaid(1);
      worker.tell("end");
      expect(await worker.ended()).toEqual({ code: 0, signal: null });
    }
    const state = (await checkpointer.load("t")) as AgentState;
    const said = state.messages.flatMap(({ role, id }) => (role === "user" ? [id] : []));
    expect(said).toEqual(sent);
    expect(state.errors).toEqual([]);
    const acted = (await readFile(effectsPath, "utf8").catch(() => "")).split("\n").filter(Boolean);
    expect(new Set(acted).size).toBe(acted.length);
    const inDoubt = state.toolExecutions.filter(({ status }) => status === "unknown").length;
    const known = new Set(state.toolExecutions.map(({ idempotencyKey }) => idempotencyKey));
    expect(acted.filter((key) => !known.has(key))).toEqual([]);
    const succeeded = state.toolExecutions.filter(({ status }) => status === "succeeded");
    expect(succeeded.filter(({ idempotencyKey = "" }) => !acted.includes(idempotencyKey))).toEqual([]);
    return { kills, signals: sent.length, repeats, effects: acted.length, inDoubt };
  } finally {
    isOver = true;
    await sending.catch(() => undefined);
    for (const worker of workers) worker.signal("SIGKILL");
    await checkpointer.close();
    await programs.dispose();
    await rm(directory, { recursive: true, force: true });
  }

  async function untilQuiet(): Promise<void> {
    const deadline = performance.now() + LONGEST_WAIT_MS;
    for (;;) {
      const last = (await checkpointer.load("t"))?.messages.at(-1);
      const isTurnOver = last?.role === "assistant" && (last.toolCalls ?? []).length === 0;
      if (isTurnOver && (await checkpointer.signals("t")).length === 0) return;
      if (performance.now() > deadline) throw new Error("the mailbox was never emptied");
      await sleep(50);
    }
  }
}
