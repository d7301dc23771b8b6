/**
 * A save on SQLite over one raw insert of the same message, with the same settings. Both go step by step in one
 * process, each step of one right beside that of the other: a disk that is slow for a while is slow for both.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { rawInsert } from "./contenders/raw-insert.ts";
import { keepLimits, limit } from "./limits.ts";
import { median, percentile, timed } from "./statistics.ts";
import { milliseconds, renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";
import { conversation } from "./workload.ts";

export interface SaveFloor {
  readonly saveMs: number;
  readonly rawMs: number;
  /** The median over blocks of neighbouring steps, each the median of its saves over that of its inserts. */
  readonly ratio: number;
  /** The same of the first steps in a new file, as long as the write-ahead log of each grows with every commit. */
  readonly newFile: number;
  /** The tenth percentiles over one another: what is left where the disk was quickest. */
  readonly quickest: number;
  readonly verdict: Verdict;
}

const STEPS = 1100;
/** The first rounds compile the code; the first steps make tables and threads. */
const WARM_UP_ROUNDS = 2;
const FIRST_STEPS = 20;
/** Our log has its full size, which is 1,000 pages, after about 370 steps, and that of the inserts after about 600. */
const LOGS_GROW = 260;
const LOGS_ARE_GROWN = 700;
const BLOCK = 20;
const TARGET = 1.2;
/** Medians of the parts of one save and of one insert, when that took 137 µs. */
const WHY_MISSED =
  "a save is one statement, as the insert is; most of the rest is the processor's time to make, check and remember the record, which takes more than twice as long right after a wait for the disk as without one; then that statement's further page, its thread's row; then the driver";

export async function measureSaveFloor({
  rounds,
  seed,
}: {
  readonly rounds: number;
  readonly seed: number;
}): Promise<SaveFloor> {
  const measured: Samples[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
    const samples = await conversationBeside(seed);
    if (round >= WARM_UP_ROUNDS) measured.push(samples);
  }
  const floor = summarise(measured);
  const { saveMs, rawMs, ratio, newFile, quickest } = floor;
  const head = ["SQLite, step by step: a save", "a raw insert", "ratio", "where quickest", "in a new file"];
  const row = [milliseconds(saveMs), milliseconds(rawMs), times(ratio), times(quickest), times(newFile)];
  console.log(`\n${renderTable(head, [row])}`);
  const { met, shown } = floor.verdict;
  const note = `in a new file, whose log still grows, ${times(newFile)}`;
  const reason = met ? note : `${WHY_MISSED}; ${note}`;
  keepLimits("sqlite", [limit("a save / a raw one-row insert, SQLite", shown, met, reason)]);
  return floor;
}

interface Samples {
  readonly saves: readonly number[];
  readonly inserts: readonly number[];
}

async function conversationBeside(seed: number): Promise<Samples> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-floor-"));
  const raw = await rawInsert.open(folder);
  const checkpointer = sqliteCheckpointer({ path: join(folder, "holdfast.db") });
  const [saves, inserts]: [number[], number[]] = [[], []];
  try {
    let state = AgentState.create();
    for (const [step, message] of conversation(seed, STEPS).entries()) {
      state = state.withMessage(message);
      const save = async (): Promise<unknown> => saves.push(await timed(() => checkpointer.save(state, "thread")));
      const insert = async (): Promise<unknown> => inserts.push(await timed(() => raw.append(message)));
      for (const write of step % 2 === 0 ? [save, insert] : [insert, save]) {
        await write();
        await setImmediate();
      }
    }
  } finally {
    await raw.close();
    await checkpointer.close();
    rmSync(folder, { recursive: true });
  }
  return { saves, inserts };
}

/** The same steps of each round. */
const stepsOf = (rounds: readonly Samples[], from: number, to: number): Samples => ({
  saves: rounds.flatMap(({ saves }) => saves.slice(from, to)),
  inserts: rounds.flatMap(({ inserts }) => inserts.slice(from, to)),
});

function ratioOf({ saves, inserts }: Samples): number {
  const blocks = Array.from({ length: Math.floor(saves.length / BLOCK) }, (_, block) => {
    const of = (all: readonly number[]): number => median(all.slice(block * BLOCK, (block + 1) * BLOCK));
    return of(saves) / of(inserts);
  });
  return median(blocks);
}

function summarise(rounds: readonly Samples[]): SaveFloor {
  const grown = stepsOf(rounds, LOGS_ARE_GROWN, STEPS);
  const ratio = ratioOf(grown);
  const target = `a save at most ${TARGET}x a raw insert with the same durability, step by step`;
  return {
    saveMs: median(grown.saves),
    rawMs: median(grown.inserts),
    ratio,
    newFile: ratioOf(stepsOf(rounds, FIRST_STEPS, LOGS_GROW)),
    quickest: percentile(grown.saves, 10) / percentile(grown.inserts, 10),
    verdict: verdict(target, TARGET, ratio, times(ratio)),
  };
}
