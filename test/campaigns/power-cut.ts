import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { textOf } from "../../src/state/message.ts";
import { type DiskBackend, openOnDisk } from "../processes/disk-backends.ts";
import { lifeOf, replayed } from "../processes/life.ts";
import type { ProgramProcess, Programs } from "../processes/programs.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import type { Action } from "../processes/thread-model.ts";
import { proveCheckpoints, settle } from "../processes/thread-proof.ts";
import { afterAction, SEVERAL_THREADS, type ThreadsAction, type ThreadsModel } from "../processes/threads-model.ts";
import { Disk } from "./loop-image.ts";

const THREAD = "without power";
const MOST_WORDS = 60;

export interface PowerCuts {
  readonly backend: DiskBackend;
  readonly cuts: number;
  readonly seed: number;
  /** Whether the file system keeps its own order of things. @default true */
  readonly hasJournal?: boolean;
  readonly work?: WorkName;
}

export interface PowerCutReport {
  readonly cuts: number;
  readonly acked: number;
  /** What was wrong with the disk after a cut, by cut. */
  readonly losses: readonly string[];
}

/** What a process does, and how its work is looked at after a cut: throws where something acknowledged is not there. */
interface Work {
  readonly program: string;
  readonly args: readonly string[];
  prove(checkpointer: Checkpointer, writer: ProgramProcess): Promise<void>;
}

const ONE_THREAD: Work = {
  program: "killed-program",
  args: [THREAD],
  async prove(checkpointer, writer) {
    const life = lifeOf(writer);
    const pending: Action | undefined = life.begun[life.acked.length];
    const settled = await settle(checkpointer, THREAD, replayed([], life), pending);
    await proveCheckpoints(checkpointer, THREAD, settled);
  },
};

/** Every thread says what was acknowledged, or what the one action under way makes of it. */
const THREADS_COME_AND_GO: Work = {
  program: "threads-program",
  args: [],
  async prove(checkpointer, { said }) {
    const lines = said as readonly ({ readonly begin?: ThreadsAction; readonly done?: null } | string)[];
    const words = lines.filter((line) => typeof line === "object");
    const begun = words.flatMap(({ begin }) => begin ?? []);
    const acked = words.filter(({ done }) => done !== undefined).length;
    const before = begun.slice(0, acked).reduce<ThreadsModel>(afterAction, new Map());
    const pending = begun[acked];
    const possible = pending === undefined ? before : afterAction(before, pending);
    const faults: string[] = [];
    for (const thread of SEVERAL_THREADS) {
      try {
        const told = (await checkpointer.load(thread))?.messages.map(textOf);
        const isRight = [before, possible].some((model) => isDeepStrictEqual(told, model.get(thread)));
        if (!isRight) faults.push(`${thread} has ${told?.length} messages, not ${before.get(thread)?.length}`);
      } catch (error) {
        faults.push(`${thread} of ${before.get(thread)?.length} messages: ${String(error)}`);
      }
    }
    if (faults.length > 0) throw new Error(faults.join("; "));
  },
};

export type WorkName = "one thread" | "threads that come and go";
const WORKS: Readonly<Record<WorkName, Work>> = {
  "one thread": ONE_THREAD,
  "threads that come and go": THREADS_COME_AND_GO,
};

/**
 * A process works on a disk. Again and again it is halted at a random instant
 * and the disk is looked at as a power cut would have left it: everything that
 * was acknowledged must be there.
 */
export async function cutPower(
  programs: Programs,
  { backend, cuts, seed, hasJournal = true, work = "one thread" }: PowerCuts,
): Promise<PowerCutReport> {
  const { program, args, prove } = WORKS[work];
  const random = seededRandom(seed);
  await using disk = await Disk.create({ hasJournal });
  const writer = programs.start(program, [backend, disk.directory, ...args, String(seed)]);
  const losses: string[] = [];
  try {
    await writer.hasSaid(1);
    writer.tell("go");
    for (let cut = 1; cut <= cuts; cut++) {
      await writer.hasSaid(writer.said.length + 1 + random.below(MOST_WORDS));
      await pause(random.next() * 8);
      await halt(writer);
      const loss = await lossAfterCut(disk, backend, (checkpointer) => prove(checkpointer, writer));
      if (loss !== undefined) losses.push(`cut ${cut}: ${loss}`);
      writer.signal("SIGCONT");
    }
    return { cuts, acked: lifeOf(writer).acked.length, losses };
  } finally {
    writer.signal("SIGKILL");
    await writer.ended();
  }
}

/** Stops the process and hears everything it said before. */
async function halt(writer: ProgramProcess): Promise<void> {
  writer.signal("SIGSTOP");
  while (!/^State:\s+T/m.test(await readFile(`/proc/${writer.pid}/status`, "utf8"))) await pause(1);
  for (let heard = -1; heard !== writer.said.length; ) {
    heard = writer.said.length;
    await pause(20);
  }
}

async function lossAfterCut(
  disk: Disk,
  backend: DiskBackend,
  prove: (checkpointer: Checkpointer) => Promise<void>,
): Promise<string | undefined> {
  await using found = await disk.afterPowerCut();
  await using checkpointer = await openOnDisk(backend, found.directory);
  try {
    await prove(checkpointer);
    return undefined;
  } catch (error) {
    return String(error);
  }
}
