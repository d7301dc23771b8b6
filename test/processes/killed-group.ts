import { setTimeout as pause } from "node:timers/promises";
import { textOf } from "../../src/state/message.ts";
import type { ProgramProcess, Programs } from "./programs.ts";
import { seededRandom } from "./seeded-random.ts";
import { openShared } from "./shared-storage.ts";

const THREADS = 24;
const MOST_SAVES = 200;
const LONGEST_MOMENT_MS = 8;

export interface GroupKills {
  readonly url: string;
  readonly kills: number;
  readonly seed: number;
}

export interface GroupReport {
  readonly kills: number;
  readonly acked: number;
  /** Saves that were in their thread though the process was killed before it could say so. */
  readonly appliedUnseen: number;
}

/**
 * Kills one process after another while it saves many threads at once. Each
 * thread must then hold exactly what was acknowledged of it, or that and the one
 * save that was under way, whatever became of the others of its group.
 */
export async function killGroups(programs: Programs, { url, kills, seed }: GroupKills): Promise<GroupReport> {
  const random = seededRandom(seed);
  const start = (): ProgramProcess => programs.start("grouping-program", [url, String(THREADS)]);
  const known = Array.from({ length: THREADS }, () => 0);
  let [acked, appliedUnseen] = [0, 0];
  for (let kill = 1; kill <= kills; kill++) {
    const program = start();
    await program.hasSaid(1);
    program.tell("go");
    await program.hasSaid(2 + random.below(MOST_SAVES));
    await pause(random.next() * LONGEST_MOMENT_MS);
    program.signal("SIGKILL");
    const { code, signal } = await program.ended();
    if (signal !== "SIGKILL") throw new Error(`the program ended by itself with ${code}`);
    for (const said of program.said.slice(1) as { readonly threadId: string; readonly number: number }[]) {
      acked++;
      known[Number(said.threadId.split(" ")[1])] = said.number + 1;
    }
    await using checkpointer = await openShared(url);
    for (const [index, count] of known.entries()) {
      const found = await settled(async () => (await checkpointer.load(`thread ${index}`))?.messages.map(textOf) ?? []);
      const place = `thread ${index} after kill ${kill}, seed ${seed}: ${count} acknowledged, ${found.length} there`;
      if (found.length !== count && found.length !== count + 1) throw new Error(place);
      const wrong = found.findIndex((text, number) => !text.startsWith(`thread ${index}: ${number} `));
      if (wrong >= 0) throw new Error(`${place}: number ${wrong} is ${JSON.stringify(found[wrong])}`);
      appliedUnseen += found.length - count;
      known[index] = found.length;
    }
  }
  return { kills, acked, appliedUnseen };
}

/** A server may still be at work on what the dead process sent last: read until two readings agree. */
async function settled(read: () => Promise<readonly string[]>): Promise<readonly string[]> {
  for (let before = await read(); ; ) {
    const now = await read();
    if (now.length === before.length) return now;
    before = now;
  }
}
