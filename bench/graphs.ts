/**
 * LangGraph graphs on our savers and on LangGraph's own, the same graph in the
 * same run: a loop that adds one message a step, and subgraphs that share its
 * messages. Ours syncs every append; theirs runs as it is configured.
 */
import { rmSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { Pool } from "pg";
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { contextOf } from "../src/checkpoint/context.ts";
import { toLangGraphSaver } from "../src/entry/langgraph.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { SERVICES } from "../test/services/services.ts";
import { benchGraphGrowth, recordBytes } from "./graph-growth.ts";
import { configFor, firstMessage, loopGraph, subgraphGraph } from "./graph-shapes.ts";
import { median, timed } from "./statistics.ts";
import { kilobytes, milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const STEPS = 400;
const CALLS = 100;
const READS = 31;
/** On a server one list has to do: theirs takes a minute there. */
const LISTS = { sqlite: 7, postgres: 1 } as const;

interface Contestant {
  readonly name: string;
  readonly saver: BaseCheckpointSaver;
  readonly bytes: () => Promise<number>;
  /** Appends so far; only ours are counted. */
  readonly appends?: () => number;
  readonly close: () => Promise<void>;
}

interface GraphMeasurement {
  readonly name: string;
  readonly loopBytes: number;
  readonly appendsPerStep: number | undefined;
  readonly runMs: number;
  readonly getStateMs: number;
  readonly listMs: number;
  readonly subgraphBytes: number;
}

/** The graph runs on each, one after the other; then they are read in turns, so that what else the machine does meets all. */
async function measure(contestants: readonly Contestant[], lists: number): Promise<readonly GraphMeasurement[]> {
  const running: { contestant: Contestant; run: Pick<GraphMeasurement, "runMs" | "loopBytes" | "appendsPerStep"> }[] =
    [];
  for (const contestant of contestants) running.push({ contestant, run: await measureRun(contestant) });
  const times = contestants.map(() => ({ states: [] as number[], lists: [] as number[] }));
  for (let round = 0; round < READS + lists; round++) {
    for (const [index, { saver }] of contestants.entries()) {
      const graph = loopGraph(saver, STEPS);
      if (round < READS) times[index]?.states.push(await timed(() => graph.getState(configFor("loop"))));
      else times[index]?.lists.push(await timed(() => listed(saver)));
    }
  }
  const measurements: GraphMeasurement[] = [];
  for (const [index, { contestant, run }] of running.entries()) {
    const { states = [], lists: listings = [] } = times[index] ?? {};
    const { name, saver, bytes, close } = contestant;
    const before = await bytes();
    await subgraphGraph(saver, CALLS).invoke(firstMessage(), configFor("subgraphs"));
    const subgraphBytes = (await bytes()) - before;
    await close();
    measurements.push({ name, ...run, getStateMs: median(states), listMs: median(listings), subgraphBytes });
  }
  return measurements;
}

async function measureRun({ saver, bytes, appends }: Contestant) {
  const empty = await bytes();
  const runMs = await timed(() => loopGraph(saver, STEPS).invoke(firstMessage(), configFor("loop")));
  const appendsPerStep = appends === undefined ? undefined : appends() / STEPS;
  return { runMs, loopBytes: (await bytes()) - empty, appendsPerStep };
}

async function listed(saver: BaseCheckpointSaver): Promise<void> {
  for await (const _ of saver.list(configFor("loop")));
}

/** What the records hold, whatever the storage makes of it. */
function ours(name: string, checkpointer: Checkpointer): Contestant {
  const log = contextOf(checkpointer)?.log;
  if (log === undefined) throw new Error("no log");
  let appends = 0;
  const append = log.append.bind(log);
  log.append = (...given) => {
    appends++;
    return append(...given);
  };
  const bytes = async (): Promise<number> => (await recordBytes(log, "loop")) + (await recordBytes(log, "subgraphs"));
  const close = () => checkpointer.close();
  return { name, saver: toLangGraphSaver(checkpointer), bytes, appends: () => appends, close };
}

function theirSqlite(path: string): Contestant {
  const saver = SqliteSaver.fromConnString(path);
  const bytes = async (): Promise<number> => {
    saver.db.pragma("wal_checkpoint(TRUNCATE)");
    return statSync(path).size;
  };
  return { name: "LangGraph SqliteSaver", saver, bytes, close: async () => void saver.db.close() };
}

async function theirPostgres(url: string): Promise<Contestant> {
  const pool = new Pool({ connectionString: url, max: 1 });
  const saver = PostgresSaver.fromConnString(url, { schema: "theirs" });
  await saver.setup();
  const bytes = async (): Promise<number> => {
    const sums = ["checkpoint_blobs", "checkpoint_writes"].map(
      (table) => `(SELECT coalesce(sum(length(blob)), 0) FROM theirs.${table})`,
    );
    const { rows } = await pool.query<{ n: string }>(`SELECT ${sums.join(" + ")} AS n`);
    return Number(rows[0]?.n);
  };
  const close = async (): Promise<void> => {
    await saver.end();
    await pool.end();
  };
  return { name: "LangGraph PostgresSaver", saver, bytes, close };
}

export async function benchGraphs(): Promise<{
  readonly measurements: readonly GraphMeasurement[];
  readonly verdicts: readonly Verdict[];
}> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-graphs-"));
  const sqlite = sqliteCheckpointer({ path: join(folder, "ours.db") });
  const onSqlite = [ours("holdfast sqlite", sqlite), theirSqlite(join(folder, "theirs.db"))];
  const measurements = [...(await measure(onSqlite, LISTS.sqlite))];
  console.log(`\n${tableOf(measurements)}`);
  const server = (await SERVICES.postgres.isHere()) ? await startPostgres() : undefined;
  if (server !== undefined) {
    const dsn = server.url;
    const postgres = postgresqlCheckpointer({ dsn, schema: "ours" });
    const onPostgres = await measure([ours("holdfast postgres", postgres), await theirPostgres(dsn)], LISTS.postgres);
    measurements.push(...onPostgres);
    console.log(`\n${tableOf(onPostgres)}`);
  }
  const growth = await benchGraphGrowth(join(folder, "growth.db"));
  // Last, because clients that were closed may not have left yet.
  await server?.stop();
  if (server !== undefined) rmSync(server.folder, { recursive: true, force: true });
  await rm(folder, { recursive: true });
  return { measurements, verdicts: [...judgeGraphs(measurements), ...growth] };
}

const tableOf = (rows: readonly GraphMeasurement[]): string =>
  renderTable(
    ["", `${STEPS} steps`, "appends/step", "run", "getState", "list", `${CALLS} subgraph calls`],
    rows.map((row) => [
      row.name,
      kilobytes(row.loopBytes),
      row.appendsPerStep?.toFixed(2) ?? "-",
      milliseconds(row.runMs),
      milliseconds(row.getStateMs),
      milliseconds(row.listMs),
      kilobytes(row.subgraphBytes),
    ]),
  );

function judgeGraphs(measurements: readonly GraphMeasurement[]): readonly Verdict[] {
  const [mine, peer] = measurements;
  if (mine === undefined || peer === undefined) return [];
  return [
    verdict(`${STEPS} steps in at most 1 MB`, 1_000_000, mine.loopBytes, kilobytes(mine.loopBytes)),
    verdict(`${CALLS} subgraph calls in at most 1.2 MB`, 1_200_000, mine.subgraphBytes, kilobytes(mine.subgraphBytes)),
    verdict("at most 1.05 appends a step", 1.05, mine.appendsPerStep ?? 0, (mine.appendsPerStep ?? 0).toFixed(2)),
    verdict("the run with sync at most as long as theirs without", peer.runMs, mine.runMs, milliseconds(mine.runMs)),
    verdict("getState no slower than theirs", peer.getStateMs, mine.getStateMs, milliseconds(mine.getStateMs)),
    verdict(`${STEPS} checkpoints listed in under 50 ms`, 50, mine.listMs, milliseconds(mine.listMs)),
  ];
}
