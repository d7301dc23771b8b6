/**
 * LangGraph graphs on our savers and on LangGraph's own, the same graph in the
 * same run: a loop that adds one message a step, and subgraphs that share its
 * messages. Ours syncs every append; theirs runs as it is configured.
 */
import { rmSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { Pool } from "pg";
import { toLangGraphSaver } from "../src/adapters/langgraph/index.ts";
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { contextOf } from "../src/checkpoint/context.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { SERVICES } from "../test/services/services.ts";
import { median, timed } from "./statistics.ts";
import { kilobytes, milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const STEPS = 400;
const CALLS = 100;
const READS = 5;
const TEXT = "x".repeat(1000);

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

const said = (text: string): AIMessage => new AIMessage({ content: `${text} ${TEXT}`, id: crypto.randomUUID() });

const loopGraph = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(MessagesAnnotation)
    .addNode("speak", ({ messages }) => ({ messages: [said(`message ${messages.length}`)] }))
    .addEdge(START, "speak")
    .addConditionalEdges("speak", ({ messages }) => (messages.length < STEPS ? "speak" : END))
    .compile({ checkpointer });

const subgraphGraph = (checkpointer: BaseCheckpointSaver) => {
  const inner = new StateGraph(MessagesAnnotation)
    .addNode("one", () => ({ messages: [said("inner one")] }))
    .addNode("two", () => ({ messages: [said("inner two")] }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .compile();
  return new StateGraph(MessagesAnnotation)
    .addNode("inner", inner)
    .addEdge(START, "inner")
    .addConditionalEdges("inner", ({ messages }) => (messages.length < 2 * CALLS ? "inner" : END))
    .compile({ checkpointer });
};

async function measureOne({ name, saver, bytes, appends, close }: Contestant): Promise<GraphMeasurement> {
  const config = (thread_id: string) => ({ configurable: { thread_id }, recursionLimit: 10_000 });
  const input = { messages: [new HumanMessage({ content: "begin", id: "0" })] };
  const empty = await bytes();
  const graph = loopGraph(saver);
  const runMs = await timed(() => graph.invoke(input, config("loop")));
  const appendsPerStep = appends === undefined ? undefined : appends() / STEPS;
  const loopBytes = (await bytes()) - empty;
  const reads: number[] = [];
  for (let read = 0; read < READS; read++) reads.push(await timed(() => graph.getState(config("loop"))));
  const listMs = await timed(async () => {
    for await (const _ of saver.list({ configurable: { thread_id: "loop" } }));
  });
  const before = await bytes();
  await subgraphGraph(saver).invoke(input, config("subgraphs"));
  const subgraphBytes = (await bytes()) - before;
  await close();
  return { name, loopBytes, appendsPerStep, runMs, getStateMs: median(reads), listMs, subgraphBytes };
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
  const bytes = async (): Promise<number> => {
    let sum = 0;
    for (const threadId of ["loop", "subgraphs"]) {
      let before: number | undefined;
      for (;;) {
        const records = (await log.readRecords(threadId, { limit: 500, ...(before !== undefined && { before }) }))
          ?.records;
        if (records?.[0] === undefined) break;
        for (const { body, header, metadata } of records)
          sum += body.byteLength + header.length + (metadata?.length ?? 0);
        before = records[0].seq;
      }
    }
    return sum;
  };
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
  const measurements: GraphMeasurement[] = [];
  measurements.push(await measureOne(ours("holdfast sqlite", sqliteCheckpointer({ path: join(folder, "ours.db") }))));
  measurements.push(await measureOne(theirSqlite(join(folder, "theirs.db"))));
  if (await SERVICES.postgres.isHere()) {
    const server = await startPostgres();
    const dsn = server.url;
    measurements.push(await measureOne(ours("holdfast postgres", postgresqlCheckpointer({ dsn, schema: "ours" }))));
    measurements.push(await measureOne(await theirPostgres(dsn)));
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
  await rm(folder, { recursive: true });
  console.log(`\n${tableOf(measurements)}`);
  return { measurements, verdicts: judgeGraphs(measurements) };
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
