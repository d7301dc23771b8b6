import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { type DiskBackend, openOnDisk } from "../processes/disk-backends.ts";
import { lifeOf, replayed } from "../processes/life.ts";
import type { ProgramProcess, Programs } from "../processes/programs.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import type { Action, ThreadModel } from "../processes/thread-model.ts";
import { proveCheckpoints, settle } from "../processes/thread-proof.ts";
import { Disk } from "./loop-image.ts";

const THREAD = "without power";
const MOST_WORDS = 60;

export interface PowerCuts {
  readonly backend: DiskBackend;
  readonly cuts: number;
  readonly seed: number;
  /** Whether the file system keeps its own order of things. @default true */
  readonly hasJournal?: boolean;
}

export interface PowerCutReport {
  readonly cuts: number;
  readonly acked: number;
  /** What was wrong with the disk after a cut, by cut. */
  readonly losses: readonly string[];
}

/**
 * A process works on a disk. Again and again it is halted at a random instant
 * and the disk is looked at as a power cut would have left it: everything that
 * was acknowledged must be there.
 */
export async function cutPower(
  programs: Programs,
  { backend, cuts, seed, hasJournal = true }: PowerCuts,
): Promise<PowerCutReport> {
  const random = seededRandom(seed);
  await using disk = await Disk.create({ hasJournal });
  const writer = programs.start("killed-program", [backend, disk.directory, THREAD, String(seed)]);
  const losses: string[] = [];
  try {
    await writer.hasSaid(1);
    writer.tell("go");
    for (let cut = 1; cut <= cuts; cut++) {
      await writer.hasSaid(writer.said.length + 1 + random.below(MOST_WORDS));
      await pause(random.next() * 8);
      await halt(writer);
      const life = lifeOf(writer);
      const loss = await lossAfterCut(disk, backend, replayed([], life), life.begun[life.acked.length]);
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
  acknowledged: ThreadModel,
  pending: Action | undefined,
): Promise<string | undefined> {
  await using found = await disk.afterPowerCut();
  await using checkpointer = await openOnDisk(backend, found.directory);
  try {
    const settled = await settle(checkpointer, THREAD, acknowledged, pending);
    await proveCheckpoints(checkpointer, THREAD, settled);
    return undefined;
  } catch (error) {
    return String(error);
  }
}
