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
import { pageAmongMany, THREADS } from "./many-threads.ts";
import { type Throughput, throughputOf, WRITERS } from "./many-writers.ts";
import { medianRatio } from "./statistics.ts";
import { kilobytes, milliseconds, renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

type Kind = keyof typeof SERVER_VARIABLES;

interface ServerBench {
  readonly start: () => Promise<TestServer>;
  readonly ours: Contender;
  readonly floor: Contender;
  readonly others: readonly Contender[];
}

/** LangGraph's Redis saver needs the modules RedisJSON and RediSearch, which neither Debian's Redis nor Valkey has. */
const BENCHES: Readonly<Record<Kind, ServerBench>> = {
  postgres: { start: startPostgres, ours: holdfastPostgres, floor: rawPostgres, others: [langgraphPostgres] },
  redis: { start: startRedis, ours: holdfastRedis, floor: rawEval, others: [] },
};

export interface ServerResult {
  readonly measurements: readonly Measurement[];
  readonly throughput: readonly Throughput[];
  readonly pageOf50Ms: number;
  readonly verdicts: readonly Verdict[];
}

export async function benchServer(kind: Kind, plan: Plan): Promise<ServerResult | undefined> {
  const { start, ours, floor, others } = BENCHES[kind];
  if (!(await SERVICES[kind].isHere())) {
    console.log(`\n${kind} is not measured: ${SERVICES[kind].howToGet}`);
    return undefined;
  }
  const server = await start();
  process.env[SERVER_VARIABLES[kind]] = server.url;
  try {
    const contenders = [ours, floor, ...others];
    const measurements = await measure(contenders, plan);
    const throughput: Throughput[] = [];
    for (const contender of contenders) throughput.push(await throughputOf(contender, plan.seed));
    const pageOf50Ms = await pageAmongMany(kind, server.url);
    const verdicts = judge(measurements, pageOf50Ms);
    console.log(`\n${table(measurements, throughput)}`);
    return { measurements, throughput, pageOf50Ms, verdicts };
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}

function judge([ours, floor]: readonly Measurement[], pageOf50Ms: number): readonly Verdict[] {
  if (ours === undefined || floor === undefined) throw new Error("nothing was measured");
  const growth = medianRatio(ours.turnsMs[400], ours.turnsMs[10]);
  const overFloor = medianRatio(Object.values(ours.turnsMs).flat(), Object.values(floor.turnsMs).flat());
  const history = ours.historyMs ?? Number.POSITIVE_INFINITY;
  return [
    verdict("a save asks the server once", 1, ours.roundTrips.save, String(ours.roundTrips.save)),
    verdict("a load asks the server once", 1, ours.roundTrips.load, String(ours.roundTrips.load)),
    verdict("a save at step 400 at most 1.2x one at step 10", 1.2, growth, times(growth)),
    verdict(`a save at most 1.3x "${floor.name}"`, 1.3, overFloor, times(overFloor)),
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
