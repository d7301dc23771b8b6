/**
 * `npx tsx bench/run.ts [--seed=1] [--rounds=5]`: ours and LangGraph.js' on the
 * same conversation in one run, with a raw insert as the floor. Prints tables
 * and writes bench/results. A missed target is shown; it fails nothing.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { benchAgent } from "./agent.ts";
import { type Measurement, measure, SHOWN_STEPS, STEPS } from "./checkpointers.ts";
import { CONTENDERS } from "./contenders/index.ts";
import { kilobytes, milliseconds, renderTable } from "./table.ts";
import { judge, type Verdict } from "./targets.ts";
import { MESSAGE_BYTES } from "./workload.ts";

const { values } = parseArgs({
  options: { seed: { type: "string", default: "1" }, rounds: { type: "string", default: "5" } },
});
const plan = { seed: Number(values.seed), rounds: Number(values.rounds), readings: 5 };

console.log(
  `One message of ${MESSAGE_BYTES} bytes a step, ${STEPS} steps, ${plan.rounds} rounds, seed ${plan.seed}, Node ${process.versions.node}`,
);
const measurements = await measure(CONTENDERS, plan);
const verdicts = judge(measurements);
// Waiting processes for each processor. Well above 1, the machine was busy with other things and times say little.
const load = loadavg()[0]! / cpus().length;
console.log(`\n${measurementTable(measurements)}\n\n${verdictTable(verdicts)}`);
console.log(`\nload of the machine: ${load.toFixed(1)} for each processor`);

const results = new URL("results/", import.meta.url);
mkdirSync(results, { recursive: true });
const file = `checkpointers-node${process.versions.node.split(".")[0]}.json`;
const result = {
  node: process.versions.node,
  date: new Date().toISOString(),
  load,
  ...plan,
  steps: STEPS,
  messageBytes: MESSAGE_BYTES,
  measurements,
  verdicts,
};
writeFileSync(new URL(file, results), `${JSON.stringify(result, rounded, 2)}\n`);
console.log(`\nwritten to bench/results/${file}`);

const agent = await benchAgent({ rounds: Math.min(plan.rounds, 3), seed: plan.seed });
console.log(`\n${verdictTable(agent.verdicts)}`);
const agentFile = `agent-node${process.versions.node.split(".")[0]}.json`;
const agentResult = { node: process.versions.node, date: new Date().toISOString(), ...plan, ...agent };
writeFileSync(new URL(agentFile, results), `${JSON.stringify(agentResult, rounded, 2)}\n`);
console.log(`\nwritten to bench/results/${agentFile}`);

function measurementTable(rows: readonly Measurement[]): string {
  const head = [
    "",
    "durability",
    "bytes",
    "allocated",
    ...SHOWN_STEPS.map((step) => `save @${step}`),
    "any save",
    "all saves",
    "open+load",
    "load",
    "history",
  ];
  return renderTable(
    head,
    rows.map((row) => [
      row.name,
      row.durability,
      kilobytes(row.bytes),
      kilobytes(row.allocatedBytes),
      ...SHOWN_STEPS.map((step) => milliseconds(row.saveMs[step])),
      milliseconds(row.anySaveMs),
      milliseconds(row.totalMs),
      milliseconds(row.openAndLoadMs),
      milliseconds(row.loadMs),
      row.historyMs === undefined ? "-" : milliseconds(row.historyMs),
    ]),
  );
}

function verdictTable(rows: readonly Verdict[]): string {
  return renderTable(
    ["target", "measured", "met"],
    rows.map(({ target, shown, met }) => [target, shown, met ? "yes" : "NO"]),
  );
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Math.round(value * 10_000) / 10_000 : value;
}
