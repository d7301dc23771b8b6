import { setTimeout as pause } from "node:timers/promises";
import type { ProgramProcess, Programs } from "./programs.ts";
import { seededRandom } from "./seeded-random.ts";

const STEPS = 8;
const MOST_WORDS = 14;
const LONGEST_MOMENT_MS = 6;

export interface KilledGraphReport {
  readonly kills: number;
  readonly finished: number;
  /** Nodes that ran again because their process died before their writes were stored. */
  readonly repeated: number;
}

type Word = {
  readonly found?: number;
  readonly began?: number;
  readonly ran?: string;
  readonly items?: readonly string[];
};

/**
 * Kills one process after another while it runs a graph, and lets the next one go
 * on. Whatever step was begun is never gone back behind, and in the end every
 * node of every step is in the state once, in its order.
 */
export async function killGraphs(
  programs: Programs,
  { url, kills, seed }: { readonly url: string; readonly kills: number; readonly seed: number },
): Promise<KilledGraphReport> {
  const random = seededRandom(seed);
  const report = { kills: 0, finished: 0, repeated: 0 };
  const start = (): ProgramProcess => programs.start("killed-graph-program", [url, String(STEPS)]);
  let thread = new ThreadStory();
  // The next one loads its modules while this one works.
  let next = start();
  try {
    while (report.kills < kills) {
      const process = next;
      await process.hasSaid(1);
      next = start();
      process.tell(`thread ${report.finished}`);
      await process.hasSaid(1 + random.below(MOST_WORDS));
      await pause(random.next() * LONGEST_MOMENT_MS);
      process.signal("SIGKILL");
      const { signal, code } = await process.ended();
      const isOver = thread.hear(process.said.slice(1) as Word[]);
      if (signal !== "SIGKILL" && !isOver) throw new Error(`the program ended by itself with ${code}`);
      if (signal === "SIGKILL") report.kills++;
      if (!isOver) continue;
      report.finished++;
      report.repeated += thread.repeated;
      thread = new ThreadStory();
    }
  } catch (error) {
    throw new Error(`seed ${seed}, after kill ${report.kills}: ${String(error)}`, { cause: error });
  } finally {
    next.signal("SIGKILL");
    await next.ended();
  }
  return report;
}

/** What the processes of one thread said, one after another. */
class ThreadStory {
  readonly #ran: string[] = [];
  #begun = 0;

  get repeated(): number {
    return this.#ran.length - new Set(this.#ran).size;
  }

  /** True when the graph came to its end. Throws when something was lost or doubled. */
  hear(words: readonly Word[]): boolean {
    for (const { found, began, ran, items } of words) {
      if (found !== undefined && found < this.#begun)
        throw new Error(`step ${this.#begun} was begun, and ${found} was found`);
      if (began !== undefined) this.#begun = Math.max(this.#begun, began);
      if (ran !== undefined) this.#ran.push(ran);
      if (items === undefined) continue;
      const wanted = Array.from({ length: STEPS }, (_, n) => [`left ${n}`, `right ${n}`]).flat();
      if (JSON.stringify(items) !== JSON.stringify(wanted)) throw new Error(`the end was ${JSON.stringify(items)}`);
      return true;
    }
    return false;
  }
}
