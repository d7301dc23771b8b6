/**
 * Vacuum of very many threads on PostgreSQL while two writers save without a
 * pause: whole threads that are old, and the old checkpoints of threads that stay.
 */
import { rmSync } from "node:fs";
import { AgentState, postgresqlCheckpointer, userMessage } from "../src/index.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { keepLimits, limit } from "./limits.ts";
import { fillPostgres } from "./scale/fill-postgres.ts";
import { percentile } from "./statistics.ts";
import type { Verdict } from "./targets.ts";

const DAY_MS = 86_400_000;
const TARGET_THREADS = 100_000;
const QUIET_SAVES = 300;

interface Vacuumed {
  readonly seconds: number;
  readonly removed: { readonly threads: number; readonly checkpoints: number; readonly skipped: number };
  /** The p99 of a save beside it, and without it. */
  readonly p99: { readonly beside: number; readonly quiet: number };
}

/** A day in the future, so that what was filled is old and what is saved now is not. */
const later = (): number => Date.now() + 60 * DAY_MS;

async function vacuumed(
  url: string,
  schema: string,
  rule: { olderThanDays?: number; keepLast?: number },
): Promise<Vacuumed> {
  const open = () =>
    postgresqlCheckpointer({ dsn: url, schema, now: later, maxConnections: 4, connectTimeoutMs: 60_000 });
  const [worker, ...writers] = [open(), open(), open()];
  let isOver = false;
  const times: Record<"beside" | "quiet", number[]> = { beside: [], quiet: [] };
  const write = async (
    writer: ReturnType<typeof open>,
    index: number,
    place: "beside" | "quiet",
    go: () => boolean,
  ) => {
    let state = AgentState.create();
    for (let turn = 0; go(); turn++) {
      if (turn % 50 === 0) state = AgentState.create();
      state = state.withMessage(userMessage(`turn ${turn} of writer ${index}`));
      const begun = performance.now();
      await writer.save(state, `writer-${index}-${place}-${Math.floor(turn / 50)}`);
      times[place].push(performance.now() - begun);
    }
  };
  let left = QUIET_SAVES * writers.length;
  await Promise.all(writers.map((writer, index) => write(writer, index, "quiet", () => left-- > 0)));
  const beside = Promise.all(writers.map((writer, index) => write(writer, index, "beside", () => !isOver)));
  const begun = performance.now();
  const { threads, checkpoints, skipped } = await worker.vacuum(rule);
  const seconds = (performance.now() - begun) / 1000;
  isOver = true;
  await beside;
  await Promise.all([worker, ...writers].map((each) => each.close()));
  return {
    seconds,
    removed: { threads, checkpoints, skipped },
    p99: { beside: percentile(times.beside, 99), quiet: percentile(times.quiet, 99) },
  };
}

export async function benchVacuum(threads: number): Promise<{ readonly verdicts: readonly Verdict[] } | undefined> {
  const settings = { shared_buffers: "512MB", max_wal_size: "4GB" };
  const server = await startPostgres({ settings });
  try {
    const rows = [];
    for (const [schema, rule, what, seconds] of [
      ["pruned", { keepLast: 1 }, "vacuum of old checkpoints of 100,000 threads on PostgreSQL beside 2 writers", 120],
      ["removed", { olderThanDays: 30 }, "vacuum of 100,000 old threads on PostgreSQL beside 2 writers", 20],
    ] as const) {
      await fillPostgres(server.url, schema, threads);
      const found = await vacuumed(server.url, schema, rule);
      const rate = `${Math.round(threads / found.seconds)} threads a second`;
      console.log(
        `${schema}: ${found.seconds.toFixed(1)} s, ${rate}; ${JSON.stringify(found.removed)}; a save's p99 ${found.p99.beside.toFixed(1)} ms beside it, ${found.p99.quiet.toFixed(1)} ms without`,
      );
      const scaled = (found.seconds * TARGET_THREADS) / threads;
      const ratio = found.p99.beside / found.p99.quiet;
      rows.push(
        limit(
          what,
          `${scaled.toFixed(0)} s`,
          scaled <= seconds,
          threads === TARGET_THREADS ? undefined : `from ${threads} threads`,
        ),
      );
      if (schema === "removed")
        rows.push(limit("p99 of the writers beside a vacuum / without", `${ratio.toFixed(1)}x`, ratio <= 1.5));
    }
    keepLimits("vacuum", rows);
    return { verdicts: [] };
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}
