/**
 * The targets of "To the limit", one line for each: what it was before, what was
 * aimed at, and what was measured. A part of the bench keeps a line by
 * `keepLimits("postgres", [limit("…", "1.15x", true)])`, which writes
 * bench/results/limit-postgres.json. The table of bench/speed.md is written by hand from these files.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "./statistics.ts";

export interface LimitRow {
  readonly what: string;
  readonly before: string;
  readonly target: string;
  readonly measured: string;
  readonly met: boolean;
  /** Why a target is missed, or what is to be known about the figure. */
  readonly reason?: string;
}

export /** Each row keeps the circumstances in which it was taken. */
interface LimitFile {
  readonly rows: readonly (LimitRow & Circumstances)[];
}

interface Circumstances {
  readonly date: string;
  readonly node: string;
  /** Waiting processes for each processor. */
  readonly load: number;
  readonly fsyncMs: number;
}

/** In the order of the table. */
export const LIMITS: Readonly<Record<string, readonly [before: string, target: string]>> = {
  "CPU of a save above the driver (1 KB message, warm, memory)": ["49–58 µs", "≤ 20 µs"],
  "a save / a raw one-row insert, SQLite": ["1.45x", "≤ 1.2x"],
  "a save / a raw one-row insert, PostgreSQL": ["1.60x", "≤ 1.2x"],
  "a save / a raw one-row script, Redis": ["1.64x", "≤ 1.2x"],
  "a load of 400 messages / JSON.parse of the state, memory": ["34x", "≤ 8x"],
  "a load of 4,000 messages / JSON.parse of the state, memory": ["30x", "≤ 8x"],
  "a warm load of 40 messages / an empty read": ["whole thread", "≤ 1.2x"],
  "a warm load of 40,000 messages / an empty read": ["whole thread", "≤ 1.2x"],
  "saves a second of 64 threads / raw single-row inserts, SQLite": ["–", "≥ 3x"],
  "saves a second of 64 threads / raw inserts of as many writers, PostgreSQL": ["0.43x (8 writers)", "≥ 1x"],
  "saves a second of 64 threads / raw scripts of as many writers, Redis": ["0.35x (8 writers)", "≥ 1x"],
  "add one message and save on SQLite, at 100,000 messages / at 1,000": ["grows", "≤ 2x"],
  "bytes on PostgreSQL / payload": ["7.8x", "≤ 2.5x"],
  "bytes on SQLite / payload": ["1.87x", "≤ 1.6x"],
  "bytes of the words index / payload": ["–", "≤ 1x"],
  "GETs of a cold load over object storage, up to 1,500 saves": ["up to 38", "≤ 6"],
  "rounds of a cold load over object storage, any length": ["–", "≤ 3"],
  "added by HTTP to a save": ["2.2 ms", "≤ 0.8 ms"],
  "added by HTTP to a load of 400": ["5.9 ms", "≤ 2 ms"],
  "vacuum of 100,000 old threads on PostgreSQL beside 2 writers": ["~16 min", "≤ 20 s"],
  "vacuum of old checkpoints of 100,000 threads on PostgreSQL beside 2 writers": ["–", "≤ 120 s"],
  "p99 of the writers beside a vacuum / without": ["–", "≤ 1.5x"],
  "search of a rare word among 1,000,000 records, PostgreSQL": ["0.85 s", "≤ 100 ms"],
  "search of a rare word among 1,000,000 records, SQLite": ["0.85 s", "≤ 100 ms"],
  "search of a common word among 1,000,000 records, PostgreSQL": ["6–7 s", "≤ 100 ms"],
  "search of a common word among 1,000,000 records, SQLite": ["6–7 s", "≤ 100 ms"],
  'import "holdfast"': ["~110 ms", "≤ 25 ms"],
  "1,000,000 threads / 1,000 threads on PostgreSQL, the slowest p50": ["–", "≤ 1.5x"],
  "1,000,000 threads / 1,000 threads on PostgreSQL, the slowest p99": ["–", "≤ 1.5x"],
  "200,000 threads / 1,000 threads on SQLite, the slowest p50": ["–", "≤ 1.5x"],
  "200,000 threads / 1,000 threads on SQLite, the slowest p99": ["–", "≤ 1.5x"],
};

/** A line of the table, with what it was before and its target from the list above. */
export function limit(what: string, measured: string, met: boolean, reason?: string): LimitRow {
  const known = LIMITS[what];
  if (known === undefined) throw new Error(`bench/limits.ts has no line ${JSON.stringify(what)}`);
  const [before, target] = known;
  return { what, before, target, measured, met, ...(reason !== undefined && { reason }) };
}

const RESULTS = new URL("results/", import.meta.url);
const fileOf = (owner: string): URL => new URL(`limit-${owner}.json`, RESULTS);

/** Rows that were kept before stay, unless they were measured again. */
export function keepLimits(owner: string, rows: readonly LimitRow[]): void {
  const before = existsSync(fileOf(owner)) ? (JSON.parse(readFileSync(fileOf(owner), "utf8")) as LimitFile).rows : [];
  const kept = before.filter((row) => !rows.some(({ what }) => what === row.what));
  const circumstances: Circumstances = {
    date: new Date().toISOString(),
    node: process.versions.node,
    load: Math.round(((loadavg()[0] ?? 0) / cpus().length) * 100) / 100,
    fsyncMs: Math.round(fsyncMs() * 1000) / 1000,
  };
  const file: LimitFile = { rows: [...kept, ...rows.map((row) => ({ ...row, ...circumstances }))] };
  writeFileSync(fileOf(owner), `${JSON.stringify(file, null, 2)}\n`);
}

/** What the disk makes one synced write cost: the floor of every durable save. */
function fsyncMs(): number {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-fsync-"));
  const file = openSync(join(folder, "file"), "w");
  const [page, samples] = [Buffer.alloc(4096, 1), [] as number[]];
  try {
    for (let at = 0; at < 50; at++) {
      const begun = performance.now();
      writeSync(file, page);
      fsyncSync(file);
      samples.push(performance.now() - begun);
    }
    return median(samples);
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}
