/**
 * The backends that are servers, on real ones: the same steps as bench/checkpointers.ts, side by side with
 * LangGraph's saver and with one raw statement; then many threads, and many writers.
 */
import { rmSync } from "node:fs";
import { startPostgres } from "../test/services/postgres.ts";
import { startRedis } from "../test/services/redis.ts";
import type { TestServer } from "../test/services/server-process.ts";
import { SERVICES } from "../test/services/services.ts";
import { type Measurement, measure, type Plan, STEPS } from "./checkpointers.ts";
import type { Contender } from "./contenders/contender.ts";
import { holdfastPostgres, langgraphPostgres, rawPostgres } from "./contenders/postgres.ts";
import { holdfastRedis, rawEval } from "./contenders/redis.ts";
import { SERVER_VARIABLES } from "./contenders/server-place.ts";
import { keepLimits, limit } from "./limits.ts";
import { pageAmongMany, THREADS } from "./many-threads.ts";
import { type Throughput, throughputOf, WRITERS } from "./many-writers.ts";
import { type SideBySide, sideBySide } from "./side-by-side.ts";
import { medianRatio } from "./statistics.ts";
import { kilobytes, milliseconds, renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

type Kind = keyof typeof SERVER_VARIABLES;

interface ServerBench {
  readonly start: () => Promise<TestServer>;
  readonly ours: Contender;
  readonly floor: Contender;
  readonly others: readonly Contender[];
  /** Its line in bench/limits.ts, and where the rest goes while the target is missed. */
  readonly line: string;
  readonly whyMissed: string;
}

/** How many times the raw statement a save may take. */
const MOST_OVER_RAW = 1.2;

/** LangGraph's Redis saver needs the modules RedisJSON and RediSearch, which neither Debian's Redis nor Valkey has. */
const BENCHES: Readonly<Record<Kind, ServerBench>> = {
  postgres: {
    start: startPostgres,
    ours: holdfastPostgres,
    floor: rawPostgres,
    others: [langgraphPostgres],
    line: "a save / a raw one-row insert, PostgreSQL",
    whyMissed:
      "two rows change instead of one and one more index; the rest is what this process does to make and check the record",
  },
  redis: {
    start: startRedis,
    ours: holdfastRedis,
    floor: rawEval,
    others: [],
    line: "a save / a raw one-row script, Redis",
    whyMissed:
      "nearly all of it is what this process does to make and check the record; the rest is the script, which does more than the raw one",
  },
};

export interface ServerResult {
  readonly measurements: readonly Measurement[];
  readonly throughput: readonly Throughput[];
  readonly pageOf50Ms: number;
  readonly pairs: SideBySide;
  readonly verdicts: readonly Verdict[];
}

export async function benchServer(kind: Kind, plan: Plan): Promise<ServerResult | undefined> {
  const { start, ours, floor, others, line, whyMissed } = BENCHES[kind];
  if (!(await SERVICES[kind].isHere())) {
    console.log(`\n${kind} is not measured: ${SERVICES[kind].howToGet}`);
    return undefined;
  }
  const server = await start();
  process.env[SERVER_VARIABLES[kind]] = server.url;
  try {
    const contenders = [ours, floor, ...others];
    const pairs = await sideBySide(ours, floor, plan.seed);
    const measurements = await measure(contenders, plan);
    const throughput: Throughput[] = [];
    for (const contender of contenders) throughput.push(await throughputOf(contender, plan.seed));
    const pageOf50Ms = await pageAmongMany(kind, server.url);
    const verdicts = judge(measurements, pageOf50Ms, pairs);
    console.log(`\n${table(measurements, throughput)}`);
    console.log(`\nin turns: a save ${milliseconds(pairs.saveMs)}, ${floor.name} ${milliseconds(pairs.rawMs)}`);
    const isMet = pairs.ratio <= MOST_OVER_RAW;
    keepLimits(kind, [limit(line, times(pairs.ratio), isMet, ...(isMet ? [] : [whyMissed]))]);
    return { measurements, throughput, pageOf50Ms, pairs, verdicts };
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}

function judge([ours, floor]: readonly Measurement[], pageOf50Ms: number, { ratio }: SideBySide): readonly Verdict[] {
  if (ours === undefined || floor === undefined) throw new Error("nothing was measured");
  const growth = medianRatio(ours.turnsMs[400], ours.turnsMs[10]);
  const history = ours.historyMs ?? Number.POSITIVE_INFINITY;
  return [
    verdict("a save asks the server once", 1, ours.roundTrips.save, String(ours.roundTrips.save)),
    verdict("a load asks the server once", 1, ours.roundTrips.load, String(ours.roundTrips.load)),
    verdict("a save at step 400 at most 1.2x one at step 10", 1.2, growth, times(growth)),
    verdict(`a save at most ${MOST_OVER_RAW}x "${floor.name}"`, MOST_OVER_RAW, ratio, times(ratio)),
    verdict(`history of ${STEPS} listed in under 50 ms`, 50, history, milliseconds(history)),
    verdict(`a page of 50 among ${THREADS} threads in under 10 ms`, 10, pageOf50Ms, milliseconds(pageOf50Ms)),
  ];
}

function table(measurements: readonly Measurement[], throughput: readonly Throughput[]): string {
  const head = ["", "bytes", "asks a save", "asks a load", "save @10", "save @400", "load", "history"];
  const rows = measurements.map((one) => [
    one.name,
    kilobytes(one.bytes),
    String(one.roundTrips.save),
    String(one.roundTrips.load),
    milliseconds(one.saveMs[10]),
    milliseconds(one.saveMs[400]),
    milliseconds(one.loadMs),
    one.historyMs === undefined ? "-" : milliseconds(one.historyMs),
    `${throughput.find(({ name }) => name === one.name)?.savesPerSecond.toFixed(0) ?? "-"}/s`,
  ]);
  return renderTable([...head, `${WRITERS} writers`], rows);
}
