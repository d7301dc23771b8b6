import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import type { Plan } from "./checkpointers.ts";
import { median } from "./statistics.ts";
import { milliseconds, renderTable } from "./table.ts";
import type { Verdict } from "./targets.ts";
import { conversation } from "./workload.ts";

const STEPS = 100;
const THREADS = 8;

interface Erasing {
  readonly secureDelete: boolean;
  readonly saveMs: number;
  readonly deleteCheckpointMs: number;
  readonly deleteThreadMs: number;
}

/** What it costs in SQLite that deleted content is overwritten: `secureDelete` on and off, side by side. */
export async function benchErasing({ rounds, seed }: Pick<Plan, "rounds" | "seed">): Promise<{
  readonly steps: number;
  readonly measurements: readonly Erasing[];
  readonly verdicts: readonly Verdict[];
}> {
  const samples = { on: emptySamples(), off: emptySamples() };
  for (let round = 0; round <= rounds; round++) {
    const [on, off] = round === 0 ? [emptySamples(), emptySamples()] : [samples.on, samples.off];
    await runRound(true, seed, on);
    await runRound(false, seed, off);
  }
  const measurements = [summarise(true, samples.on), summarise(false, samples.off)];
  const rows = measurements.map(({ secureDelete, saveMs, deleteCheckpointMs, deleteThreadMs }) => [
    secureDelete ? "holdfast sqlite" : "holdfast sqlite, secureDelete: false",
    milliseconds(saveMs),
    milliseconds(deleteCheckpointMs),
    milliseconds(deleteThreadMs),
  ]);
  console.log(`\n${renderTable(["", "save", "delete a checkpoint", `delete a thread of ${STEPS}`], rows)}`);
  return { steps: STEPS, measurements, verdicts: [] };
}

interface Samples {
  readonly saves: number[];
  readonly checkpoints: number[];
  readonly threads: number[];
}

const emptySamples = (): Samples => ({ saves: [], checkpoints: [], threads: [] });

const summarise = (secureDelete: boolean, { saves, checkpoints, threads }: Samples): Erasing => ({
  secureDelete,
  saveMs: median(saves),
  deleteCheckpointMs: median(checkpoints),
  deleteThreadMs: median(threads),
});

async function runRound(secureDelete: boolean, seed: number, samples: Samples): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-erasing-"));
  const checkpointer = sqliteCheckpointer({ path: join(directory, "a.db"), secureDelete });
  try {
    for (let thread = 0; thread < THREADS; thread++) {
      let state = AgentState.create();
      for (const { content } of conversation(seed + thread, STEPS)) {
        state = state.withMessage(userMessage(content));
        samples.saves.push(await timed(() => checkpointer.save(state, `t${thread}`)));
      }
    }
    await checkpointer.search("word");
    for (let thread = 0; thread < THREADS; thread++) {
      const [, middle] = await checkpointer.listCheckpoints(`t${thread}`, { limit: STEPS / 2 });
      const which = { checkpointId: middle?.checkpointId ?? "" };
      samples.checkpoints.push(await timed(() => checkpointer.delete(`t${thread}`, which)));
    }
    for (let thread = 0; thread < THREADS; thread++) {
      samples.threads.push(await timed(() => checkpointer.delete(`t${thread}`)));
    }
  } finally {
    await checkpointer.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
