import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { configure, openDatabase } from "../../src/backends/sqlite/open-file.ts";
import { type DiskBackend, databasePath, openOnDisk } from "./disk-backends.ts";
import { type Life, lifeOf, replayed } from "./life.ts";
import type { ProgramProcess, Programs } from "./programs.ts";
import { seededRandom } from "./seeded-random.ts";
import type { Action, ThreadModel } from "./thread-model.ts";
import { proveCheckpoints, settle } from "./thread-proof.ts";

const THREAD = "killed often";
/** A process is killed after a number of its words and a moment more, so that a slow machine is tested as well as a fast one. */
const MOST_WORDS = 30;
const LONGEST_MOMENT_MS = 8;
const KILLS_PER_FULL_CHECK = 25;

export interface KillReport {
  readonly kills: number;
  readonly acked: number;
  /** Kills that met an action under way. */
  readonly interrupted: number;
  /** Of those, the ones that changed or removed what was there: deletions, vacuums, rewrites, moves of a name. */
  readonly interruptedEdits: number;
  /** Of the interrupted, the ones that were in the thread all the same. */
  readonly applied: number;
}

/**
 * Kills one process after another while it works on a thread. After each kill
 * the thread must be exactly what was acknowledged, or that and the one action
 * that was under way. What was acknowledged is kept here, outside the storage.
 */
export async function killWriters(
  programs: Programs,
  { backend, kills, seed }: { readonly backend: DiskBackend; readonly kills: number; readonly seed: number },
): Promise<KillReport> {
  const random = seededRandom(seed);
  const directory = await mkdtemp(join(tmpdir(), `holdfast-kill-${backend}-`));
  const start = (number: number): ProgramProcess =>
    programs.start("killed-program", [backend, directory, THREAD, String(seed + number)]);
  const report = { kills: 0, acked: 0, interrupted: 0, interruptedEdits: 0, applied: 0 };
  let model: ThreadModel = [];
  // The next process starts up while the one before it is at work.
  let waiting = start(0);
  try {
    while (report.kills < kills) {
      const current = waiting;
      waiting = start(++report.kills);
      const { begun, acked } = await killAfter(current, random.below(MOST_WORDS), random.next() * LONGEST_MOMENT_MS);
      model = replayed(model, { begun, acked });
      const pending = begun[acked.length];
      const settled = await check(backend, directory, model, pending, report.kills % KILLS_PER_FULL_CHECK === 0);
      report.acked += acked.length;
      if (pending !== undefined) report.interrupted++;
      if (pending !== undefined && isEdit(pending)) report.interruptedEdits++;
      if (settled !== model) report.applied++;
      model = settled;
    }
    await check(backend, directory, model, undefined, true);
    if (backend === "sqlite") await proveIntegrity(directory);
  } catch (error) {
    const replay = `${backend}, seed ${seed}, after kill ${report.kills}; the directory is kept: ${directory}`;
    throw new Error(`${replay}\n${String(error)}`, { cause: error });
  } finally {
    waiting.signal("SIGKILL");
    await waiting.ended();
  }
  await rm(directory, { recursive: true });
  return report;
}

async function killAfter(writer: ProgramProcess, words: number, moment: number): Promise<Life> {
  await writer.hasSaid(1);
  writer.tell("go");
  await writer.hasSaid(1 + words);
  await pause(moment);
  writer.signal("SIGKILL");
  const { code, signal } = await writer.ended();
  if (signal !== "SIGKILL") throw new Error(`the program ended by itself with ${code}`);
  return lifeOf(writer);
}

/** By an instance of its own each time: nothing that a process remembers can hide what lies on the disk. */
async function check(
  backend: DiskBackend,
  directory: string,
  model: ThreadModel,
  pending: Action | undefined,
  all: boolean,
): Promise<ThreadModel> {
  await using checkpointer = await openOnDisk(backend, directory);
  const settled = await settle(checkpointer, THREAD, model, pending);
  const last = settled.length - 1;
  const some = settled.filter((_, index) => index <= 1 || index === last || index === last >> 1);
  await proveCheckpoints(checkpointer, THREAD, all ? settled : some);
  return settled;
}

const isEdit = (action: Action): boolean => action.kind !== "append" || action.checkpointId !== undefined;

async function proveIntegrity(directory: string): Promise<void> {
  const database = await openDatabase(databasePath(directory));
  configure(database);
  const answer = database.prepare("PRAGMA integrity_check").get();
  database.close();
  if (JSON.stringify(answer) !== '{"integrity_check":"ok"}') throw new Error(`SQLite says: ${JSON.stringify(answer)}`);
}
