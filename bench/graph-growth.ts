/** How the cost of a graph's thread grows with its length, and what many tasks at once cost on a slow storage. */

import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { contextOf } from "../src/checkpoint/context.ts";
import type { ThreadLog } from "../src/checkpoint/log/thread-log.ts";
import { toLangGraphSaver } from "../src/entry/langgraph.ts";
import { CheckpointSaver } from "../src/saver/checkpoint-saver.ts";
import { SlowLog } from "../test/agent/slow-log.ts";
import { configFor, firstMessage, loopGraph, parallelGraph } from "./graph-shapes.ts";
import { times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const [SHORT, LONG] = [400, 4000];
const TASKS = 50;
const LATENCY_MS = 5;

export async function benchGraphGrowth(path: string): Promise<readonly Verdict[]> {
  const checkpointer = sqliteCheckpointer({ path });
  const log = contextOf(checkpointer)?.log;
  if (log === undefined) throw new Error("no log");
  const saver = toLangGraphSaver(checkpointer);
  const bytes: number[] = [];
  for (const steps of [SHORT, LONG]) {
    await loopGraph(saver, steps).invoke(firstMessage(), configFor(`${steps}`));
    bytes.push(await recordBytes(log, `${steps}`));
  }
  await checkpointer.close();
  const [short = 0, long = 0] = bytes;
  const growth = long / LONG / (short / SHORT);
  const appends = await parallelAppends();
  return [
    verdict(`a step of ${LONG} at most 1.1x the bytes of a step of ${SHORT}`, 1.1, growth, times(growth)),
    verdict(`${TASKS} parallel tasks at ${LATENCY_MS} ms a call in at most 5 appends`, 5, appends, String(appends)),
  ];
}

async function parallelAppends(): Promise<number> {
  const log = new SlowLog(LATENCY_MS);
  const saver = toLangGraphSaver(new CheckpointSaver({ log }));
  const { messages } = await parallelGraph(saver, TASKS).invoke(firstMessage(), configFor("parallel"));
  if (messages.length !== TASKS + 1) throw new Error(`${messages.length} messages of ${TASKS} tasks`);
  return log.appends;
}

/** What the records of a thread hold, whatever the storage makes of it. */
export async function recordBytes(log: ThreadLog, threadId: string): Promise<number> {
  let sum = 0;
  let before: number | undefined;
  for (;;) {
    const page = await log.readRecords(threadId, { limit: 500, ...(before !== undefined && { before }) });
    const [first] = page?.records ?? [];
    if (page === undefined || first === undefined) return sum;
    for (const { body, header, metadata } of page.records) {
      sum += body.byteLength + header.length + (metadata?.length ?? 0);
    }
    before = first.seq;
  }
}
