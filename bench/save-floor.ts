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
  /** The tenth percentiles over one another: what is left where the disk was quickest. */
  readonly quickest: number;
  readonly verdict: Verdict;
}

const STEPS = 400;
/** The first rounds compile the code; the first steps make tables and threads. */
const WARM_UP_ROUNDS = 3;
const FIRST_STEPS = 20;
const BLOCK = 20;
const TARGET = 1.2;
const WHY_MISSED =
  "three pages are written where an insert writes one (the record, its thread's row, the index of names), by five statements; the rest is the processor's time of the save";

export async function measureSaveFloor({
  rounds,
  seed,
}: {
  readonly rounds: number;
  readonly seed: number;
}): Promise<SaveFloor> {
  const samples = { saves: [] as number[], inserts: [] as number[] };
  for (let round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
    const measured = await conversationBeside(seed);
    if (round < WARM_UP_ROUNDS) continue;
    samples.saves.push(...measured.saves);
    samples.inserts.push(...measured.inserts);
  }
  const floor = summarise(samples);
  const { saveMs, rawMs, ratio, quickest } = floor;
  const row = [milliseconds(saveMs), milliseconds(rawMs), times(ratio), times(quickest)];
  console.log(`\n${renderTable(["SQLite, step by step: a save", "a raw insert", "ratio", "where quickest"], [row])}`);
  const { met, shown } = floor.verdict;
  keepLimits("sqlite", [limit("a save / a raw one-row insert, SQLite", shown, met, ...(met ? [] : [WHY_MISSED]))]);
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
  return { saves: saves.slice(FIRST_STEPS), inserts: inserts.slice(FIRST_STEPS) };
}

function summarise({ saves, inserts }: Samples): SaveFloor {
  const blocks = Array.from({ length: Math.floor(saves.length / BLOCK) }, (_, block) => {
    const of = (all: readonly number[]): number => median(all.slice(block * BLOCK, (block + 1) * BLOCK));
    return of(saves) / of(inserts);
  });
  const ratio = median(blocks);
  return {
    saveMs: median(saves),
    rawMs: median(inserts),
    ratio,
    quickest: percentile(saves, 10) / percentile(inserts, 10),
    verdict: verdict(
      `a save at most ${TARGET}x a raw insert with the same durability, step by step`,
      TARGET,
      ratio,
      times(ratio),
    ),
  };
}
