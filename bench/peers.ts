/**
 * What a user would pick instead, on the same conversation in the same run: a message of 1 KB a step, 400 steps, every
 * save synced to the disk where there is one. Each does what it is made for: LangGraph's savers and ours keep a
 * checkpoint for every step, Mastra keeps the messages, DBOS the output of each step, so only those with a history list
 * one.
 */
import { rmSync } from "node:fs";
import { startPostgres } from "../test/services/postgres.ts";
import { SERVICES } from "../test/services/services.ts";
import { type Measurement, measure, type Plan } from "./checkpointers.ts";
import type { Contender } from "./contenders/contender.ts";
import { PEERS } from "./contenders/index.ts";
import { SERVER_VARIABLES } from "./contenders/server-place.ts";
import { kilobytes, milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

/** No library may call home from a bench. */
const QUIET = {
  DO_NOT_TRACK: "1",
  MASTRA_TELEMETRY_DISABLED: "1",
  OTEL_SDK_DISABLED: "true",
  LANGSMITH_TRACING: "false",
};

export interface PeersPlan extends Plan {
  /** "local", "postgres": the contenders of a group are measured together. */
  readonly groups: readonly string[];
  /** What was measured before: a group that is not measured now stays. */
  readonly before: readonly Measurement[];
}

export async function benchPeers({ groups, before, ...plan }: PeersPlan): Promise<{
  readonly measurements: readonly Measurement[];
  readonly verdicts: readonly Verdict[];
}> {
  Object.assign(process.env, QUIET);
  const kept = (contenders: readonly Contender[]): readonly Measurement[] =>
    before.filter(({ name }) => contenders.some((contender) => contender.name === name));
  const local = groups.includes("local") ? await measure(PEERS.local, plan) : kept(PEERS.local);
  const server = groups.includes("postgres") ? await onPostgres(plan) : kept(PEERS.postgres);
  const measurements = [...local, ...server];
  console.log(`\n${tableOf(measurements)}`);
  return { measurements, verdicts: judge(measurements) };
}

async function onPostgres(plan: Plan): Promise<readonly Measurement[]> {
  if (!(await SERVICES.postgres.isHere())) {
    console.log(`\npostgres is not measured: ${SERVICES.postgres.howToGet}`);
    return [];
  }
  const server = await startPostgres();
  process.env[SERVER_VARIABLES.postgres] = server.url;
  try {
    return await measure(PEERS.postgres, plan);
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}

/** Ours against the quickest and the smallest contender with the same durability and a history, or without one. */
function judge(measurements: readonly Measurement[]): readonly Verdict[] {
  const named = (name: string): Measurement | undefined => measurements.find((one) => one.name === name);
  const pairs = [
    ["holdfast sqlite", "LangGraph SqliteSaver, synchronous=FULL"],
    ["holdfast sqlite", "Mastra LibSQLStore, synchronous=FULL"],
    ["holdfast postgres", "LangGraph PostgresSaver"],
    ["holdfast postgres", "Mastra PostgresStore"],
    ["holdfast postgres", "DBOS, one step a message"],
  ] as const;
  return pairs.flatMap(([ours, theirs]) => {
    const [a, b] = [named(ours), named(theirs)];
    if (a === undefined || b === undefined) return [];
    const share = a.saveMs[400] / b.saveMs[400];
    return [verdict(`a save of ${ours} at step 400 no slower than ${theirs}`, 1, share, `${share.toFixed(2)}x`)];
  });
}

const tableOf = (measurements: readonly Measurement[]): string =>
  renderTable(
    ["", "durability", "bytes", "save @10", "save @400", "open and load", "load again", "history"],
    measurements.map((one) => [
      one.name,
      one.durability,
      kilobytes(one.bytes),
      milliseconds(one.saveMs[10]),
      milliseconds(one.saveMs[400]),
      milliseconds(one.openAndLoadMs),
      milliseconds(one.loadMs),
      one.historyMs === undefined ? "-" : milliseconds(one.historyMs),
    ]),
  );
