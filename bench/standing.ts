/**
 * `npx tsx bench/standing.ts`: what it costs to look for unfinished and waiting
 * threads where there are none, among ever more threads that are finished.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../src/state/message.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { median } from "./statistics.ts";
import { milliseconds, renderTable } from "./table.ts";

const SIZES = [200, 8_000, 50_000];
const TIMES = 15;

async function measured(open: () => Checkpointer): Promise<readonly (readonly string[])[]> {
  const checkpointer = open();
  const rows: string[][] = [];
  const state = AgentState.create().withMessage(userMessage("hello")).withMessage(assistantMessage("hi"));
  let there = 0;
  for (const size of SIZES) {
    for (; there < size; there += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, at) => checkpointer.save(state, `t/${there + at}`)));
    }
    const look = async (work: () => Promise<unknown>): Promise<number> => {
      const samples: number[] = [];
      for (let time = 0; time < TIMES; time++) {
        const began = performance.now();
        await work();
        samples.push(performance.now() - began);
      }
      return median(samples);
    };
    const unfinished = await look(() => checkpointer.listWithMetadata({ standing: "unfinished" }));
    const inbox = await look(() => checkpointer.inbox());
    rows.push([String(size), milliseconds(unfinished), milliseconds(inbox)]);
  }
  await checkpointer.close();
  return rows;
}

const columns = ["finished threads", "what recover() lists", "inbox()"];
const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-standing-"));
const sqlite = await measured(() => sqliteCheckpointer({ path: join(folder, "a.db") }));
console.log(`\nSQLite\n${renderTable(columns, sqlite)}`);
rmSync(folder, { recursive: true });
const server = await startPostgres();
const postgres = await measured(() => postgresqlCheckpointer({ dsn: server.url }));
console.log(`\nPostgreSQL\n${renderTable(columns, postgres)}`);
await server.stop();
rmSync(server.folder, { recursive: true, force: true });
