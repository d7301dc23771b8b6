/**
 * 64 threads in one process, each saved again as soon as its last save returned, over one checkpointer; beside as many
 * raw writers that each insert one row at a time. SQLite has one writer at a time, so its floor is one such writer.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { redisCheckpointer } from "../src/backends/redis/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { startRedis } from "../test/services/redis.ts";
import type { TestServer } from "../test/services/server-process.ts";
import { SERVICES } from "../test/services/services.ts";
import type { Contender, OpenContender } from "./contenders/contender.ts";
import { rawPostgres } from "./contenders/postgres.ts";
import { rawInsert } from "./contenders/raw-insert.ts";
import { rawEval } from "./contenders/redis.ts";
import { SERVER_VARIABLES } from "./contenders/server-place.ts";
import { keepLimits, limit } from "./limits.ts";
import { median, timed } from "./statistics.ts";
import { renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";
import { conversation, type WorkloadMessage } from "./workload.ts";

const THREADS = 64;
const SAVES = 40;
const WARM_UP = 4;
/** 50,000 saves: until then a part of what is measured is Node compiling them, at first four times the rest. */
const WARM_UP_ROUNDS = 20;
const WHY_MISSED =
  "one process makes, checks and indexes all saves and is the bound, not the storage; on a machine that is shared it gets one share, and the raw writers' server many. Driven without a checkpointer, both drivers keep up with the raw writers";

interface Place {
  readonly name: "sqlite" | "postgres" | "redis";
  readonly raw: Contender;
  readonly rawWriters: number;
  /** Its line in bench/limits.ts. */
  readonly line: string;
  /** How many times the raw writers' rate ours must be at least. */
  readonly target: number;
  open(directory: string): Checkpointer;
  start?(): Promise<TestServer>;
}

const fromEnvironment = (kind: keyof typeof SERVER_VARIABLES): string => process.env[SERVER_VARIABLES[kind]] ?? "";

const PLACES: readonly Place[] = [
  {
    name: "sqlite",
    raw: rawInsert,
    rawWriters: 1,
    line: "saves a second of 64 threads / raw single-row inserts, SQLite",
    target: 3,
    open: (directory) => sqliteCheckpointer({ path: join(directory, "holdfast.db") }),
  },
  {
    name: "postgres",
    raw: rawPostgres,
    rawWriters: THREADS,
    line: "saves a second of 64 threads / raw inserts of as many writers, PostgreSQL",
    target: 1,
    start: startPostgres,
    open: () => postgresqlCheckpointer({ dsn: fromEnvironment("postgres"), schema: "bench_writers" }),
  },
  {
    name: "redis",
    raw: rawEval,
    rawWriters: THREADS,
    line: "saves a second of 64 threads / raw scripts of as many writers, Redis",
    target: 1,
    // So much is written that the server would rewrite its file now and then, in the middle of the one or the other.
    start: () => startRedis({ settings: { "auto-aof-rewrite-percentage": "0" } }),
    open: () => redisCheckpointer({ url: fromEnvironment("redis"), prefix: "bench_writers:" }),
  },
];

export interface WritersMeasurement {
  readonly name: string;
  readonly savesPerSecond: number;
  readonly rawPerSecond: number;
  readonly ratio: number;
  /** The same with the time in which the words of these saves are indexed behind them. Only where that is this process' work. */
  readonly indexedRatio?: number;
}

/** Prints a table; the rows and the verdicts are for bench/results. */
export async function benchWriters(plan: {
  readonly rounds: number;
  readonly seed: number;
  readonly only?: readonly string[];
}): Promise<{ readonly measurements: readonly WritersMeasurement[]; readonly verdicts: readonly Verdict[] }> {
  const measurements: WritersMeasurement[] = [];
  const verdicts: Verdict[] = [];
  for (const place of PLACES.filter(({ name }) => plan.only?.includes(name) ?? true)) {
    const measured = await measurePlace(place, plan);
    if (measured === undefined) continue;
    measurements.push(measured);
    const target = `${THREADS} threads on ${place.name} at least ${place.target}x ${place.rawWriters} raw`;
    // A verdict is met at or below its limit: here it is how many times the raw rate fits into the wanted one.
    verdicts.push(verdict(target, 1, place.target / measured.ratio, times(measured.ratio)));
    const isMet = measured.ratio >= place.target;
    const why = [...(isMet ? [] : [WHY_MISSED]), ...indexingNote(measured)].join("; ");
    keepLimits("writers", [limit(place.line, times(measured.ratio), isMet, ...(why === "" ? [] : [why]))]);
  }
  const rows = measurements.map(({ name, savesPerSecond, rawPerSecond, ratio }) => [
    name,
    `${savesPerSecond.toFixed(0)}/s`,
    `${rawPerSecond.toFixed(0)}/s`,
    times(ratio),
  ]);
  console.log(`\n${renderTable(["", `${THREADS} threads`, "raw", "ratio"], rows)}`);
  return { measurements, verdicts };
}

async function measurePlace(
  place: Place,
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
): Promise<WritersMeasurement | undefined> {
  const { name, start } = place;
  if (name !== "sqlite" && !(await SERVICES[name].isHere())) {
    console.log(`\n${name} is not measured: ${SERVICES[name].howToGet}`);
    return undefined;
  }
  const server = await start?.();
  if (server !== undefined && name !== "sqlite") process.env[SERVER_VARIABLES[name]] = server.url;
  try {
    const messages = conversation(seed, SAVES);
    const [ours, indexed, raw]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
      const rawSaves = await rawRate(place, messages);
      const rates = await ourRates(place, messages);
      if (round < WARM_UP_ROUNDS) continue;
      raw.push(rawSaves);
      ours.push(rates.saves);
      indexed.push(rates.indexed);
    }
    const overRaw = (rates: readonly number[]): number =>
      median(rates.map((rate, round) => rate / (raw[round] ?? Number.NaN)));
    return {
      ...{ name, savesPerSecond: median(ours), rawPerSecond: median(raw), ratio: overRaw(ours) },
      ...(name === "sqlite" && { indexedRatio: overRaw(indexed) }),
    };
  } finally {
    await server?.stop();
    if (server !== undefined) rmSync(server.folder, { recursive: true, force: true });
  }
}

const indexingNote = ({ indexedRatio }: WritersMeasurement): readonly string[] =>
  indexedRatio === undefined
    ? []
    : [`words are indexed when saves pause, or 4,096 are behind; counted with the saves it is ${times(indexedRatio)}`];

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-together-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const rawRate = ({ raw, rawWriters }: Place, messages: readonly WorkloadMessage[]): Promise<number> =>
  inFolder(async (folder) => {
    const writers: OpenContender[] = [];
    for (let writer = 0; writer < rawWriters; writer++) writers.push(await raw.open(folder));
    const rate = await rateOf(
      writers.map(({ append }) => append),
      messages,
    );
    for (const { close } of writers) await close();
    return rate;
  });

let threadsMade = 0;

/**
 * The rate of the saves alone, and with the indexing of what they brought, which a search waits
 * for.
 */
const ourRates = (
  place: Place,
  messages: readonly WorkloadMessage[],
): Promise<{ readonly saves: number; readonly indexed: number }> =>
  inFolder(async (folder) => {
    await using checkpointer = place.open(folder);
    await checkpointer.connect();
    const savers = Array.from({ length: THREADS }, () => {
      let state = AgentState.create();
      const threadId = `thread ${++threadsMade}`;
      return (message: WorkloadMessage) => {
        state = state.withMessage(message);
        return checkpointer.save(state, threadId);
      };
    });
    const saves = await rateOf(savers, messages);
    const indexingMs = place.name === "sqlite" ? await timed(() => checkpointer.search("nothing")) : 0;
    // Those of the warm-up are indexed here, too.
    const count = savers.length * messages.length;
    return { saves, indexed: (count * 1000) / ((count * 1000) / saves + indexingMs) };
  });

/** The first steps make tables and threads. */
async function rateOf(
  writers: readonly ((message: WorkloadMessage) => Promise<unknown>)[],
  messages: readonly WorkloadMessage[],
): Promise<number> {
  const write = (some: readonly WorkloadMessage[]): Promise<unknown> =>
    Promise.all(
      writers.map(async (append) => {
        for (const message of some) await append(message);
      }),
    );
  await write(messages.slice(0, WARM_UP));
  const timedMessages = messages.slice(WARM_UP);
  return (writers.length * timedMessages.length * 1000) / (await timed(() => write(timedMessages)));
}

if (process.argv[1] === import.meta.filename) {
  const only = process.argv[2]?.split(",");
  await benchWriters({ rounds: Number(process.argv[3] ?? 3), seed: 1, ...(only && { only }) });
}
