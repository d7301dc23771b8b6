/**
 * Vacuum of very many threads on PostgreSQL while two writers save without a
 * pause: whole threads that are old, and the old checkpoints of threads that stay.
 */
import { type ChildProcess, fork } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { keepLimits, type LimitRow, limit } from "./limits.ts";
import { fillPostgres } from "./scale/fill-postgres.ts";
import { percentile } from "./statistics.ts";
import { type Verdict, verdict } from "./targets.ts";
import type { WriterAnswer, WriterCommand } from "./vacuum-writer-program.ts";

const DAY_MS = 86_400_000;
const TARGET_THREADS = 100_000;
/** A p99 of fewer is the chance of a handful of saves. */
const QUIET_SAVES = 2000;

const WHY_MISSED =
  "mostly the processor, by samples of what the server's processes wait for: two writers and their two server processes keep two cores busy by themselves";

interface Vacuumed {
  readonly seconds: number;
  readonly removed: { readonly threads: number; readonly checkpoints: number; readonly skipped: number };
  /** The p99 of a save beside it, and without it. */
  readonly p99: { readonly beside: number; readonly quiet: number };
}

/** Days in the future, so that what was filled is old and what is saved now is not. */
const AHEAD_MS = 60 * DAY_MS;
const later = (): number => Date.now() + AHEAD_MS;

/** Processes of their own, as writers beside a vacuum are: what the vacuum computes itself must not count as the storage's delay. */
class Writer {
  readonly #child: ChildProcess;

  constructor(url: string, schema: string, index: number) {
    const program = fileURLToPath(new URL("./vacuum-writer-program.ts", import.meta.url));
    this.#child = fork(program, [url, schema, String(index), String(AHEAD_MS)], { execArgv: ["--import", "tsx"] });
  }

  save(command: WriterCommand): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null): void => reject(new Error(`a writer ended with ${code}`));
      this.#child.once("exit", ended);
      this.#child.once("message", ({ times }: WriterAnswer) => {
        this.#child.off("exit", ended);
        resolve(times);
      });
      this.#child.send(command);
    });
  }

  stop(): void {
    this.#child.send({ stop: true } satisfies WriterCommand);
  }

  end(): void {
    this.#child.disconnect();
  }
}

async function vacuumed(
  url: string,
  schema: string,
  rule: { olderThanDays?: number; keepLast?: number },
): Promise<Vacuumed> {
  const worker = postgresqlCheckpointer({ dsn: url, schema, now: later, maxConnections: 4, connectTimeoutMs: 60_000 });
  const writers = [new Writer(url, schema, 1), new Writer(url, schema, 2)];
  try {
    const all = async (command: WriterCommand): Promise<readonly number[]> =>
      (await Promise.all(writers.map((writer) => writer.save(command)))).flat();
    await all({ saves: QUIET_SAVES / 2 });
    const before = await all({ saves: QUIET_SAVES });
    const beside = all({ untilStopped: true });
    const begun = performance.now();
    const { threads, checkpoints, skipped } = await worker.vacuum(rule);
    const seconds = (performance.now() - begun) / 1000;
    for (const writer of writers) writer.stop();
    const during = await beside;
    // What else the machine does comes and goes: without the vacuum is measured on both sides of it.
    const quiet = [...before, ...(await all({ saves: QUIET_SAVES }))];
    return {
      seconds,
      removed: { threads, checkpoints, skipped },
      p99: { beside: percentile(during, 99), quiet: percentile(quiet, 99) },
    };
  } finally {
    for (const writer of writers) writer.end();
    await worker.close();
  }
}

export async function benchVacuum(threads: number): Promise<{ readonly verdicts: readonly Verdict[] } | undefined> {
  const settings = { shared_buffers: "512MB", max_wal_size: "4GB" };
  const server = await startPostgres({ settings });
  try {
    const [rows, verdicts]: [LimitRow[], Verdict[]] = [[], []];
    const ratios: string[] = [];
    let worst = 0;
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
      ratios.push(`${schema} ${ratio.toFixed(1)}x`);
      worst = Math.max(worst, ratio);
      verdicts.push(
        verdict(what, seconds, scaled, `${scaled.toFixed(1)} s`),
        verdict(`${schema}: p99 of the writers at most 1.5x`, 1.5, ratio, `${ratio.toFixed(2)}x`),
      );
    }
    const how = "two writers in processes of their own, without a pause";
    const why = worst <= 1.5 ? how : `${how}; ${WHY_MISSED}`;
    rows.push(limit("p99 of the writers beside a vacuum / without", ratios.join(", "), worst <= 1.5, why));
    keepLimits("vacuum", rows);
    return { verdicts };
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}
