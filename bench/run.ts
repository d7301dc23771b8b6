/**
 * `npm run bench [-- --seed=1 --rounds=5 --only=agent,postgres --sizes=1000,20000 --stores=sqlite]`: ours and
 * LangGraph.js' on the same conversation in one run, with one raw statement as
 * the floor. Prints tables and writes bench/results. A missed target is shown;
 * it fails nothing.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { benchAgent } from "./agent.ts";
import { benchBytes } from "./bytes.ts";
import { type Measurement, type Plan, STEPS } from "./checkpointers.ts";
import { benchCommandLine } from "./command-line.ts";
import { benchCore } from "./core.ts";
import { benchErasing } from "./erasing.ts";
import { benchGraphs } from "./graphs.ts";
import { benchHttp } from "./http.ts";
import { benchImport } from "./import.ts";
import { benchLength } from "./length.ts";
import { benchLocal } from "./local.ts";
import { benchLongFiles } from "./long-files.ts";
import { benchObjectStore } from "./object-store.ts";
import { benchOracle } from "./oracle.ts";
import { benchPeers } from "./peers.ts";
import { benchPromptCache } from "./prompt-cache.ts";
import { benchRetrieval } from "./retrieval.ts";
import { benchSealing } from "./sealing.ts";
import { benchSearch } from "./search.ts";
import { benchServer } from "./servers.ts";
import { benchSlowStore } from "./slow-store.ts";
import { benchStores, type StoreMeasurement } from "./stores.ts";
import { benchStudio } from "./studio.ts";
import { renderTable } from "./table.ts";
import type { Verdict } from "./targets.ts";
import { benchVacuum } from "./vacuum.ts";
import { MESSAGE_BYTES } from "./workload.ts";
import { benchWriters } from "./writers.ts";

interface PartResult {
  readonly verdicts: readonly Verdict[];
}

/** Each prints its own table. `undefined` where it could not be measured, and says why. */
const PARTS: Readonly<Record<string, (plan: Plan) => Promise<PartResult | undefined>>> = {
  core: benchCore,
  length: benchLength,
  checkpointers: benchLocal,
  erasing: ({ rounds, seed }) => benchErasing({ rounds: Math.min(rounds, 3), seed }),
  sealing: ({ rounds }) => benchSealing({ rounds }),
  graphs: () => benchGraphs(),
  files: ({ seed }) => benchLongFiles(seed),
  agent: ({ rounds, seed }) => benchAgent({ rounds: Math.min(rounds, 3), seed }),
  overlap: ({ rounds }) => benchSlowStore({ rounds: Math.min(rounds, 3) }),
  postgres: (plan) => benchServer("postgres", { ...plan, rounds: Math.min(plan.rounds, 2) }),
  redis: (plan) => benchServer("redis", plan),
  bytes: () => benchBytes(),
  writers: ({ rounds, seed }) => benchWriters({ rounds, seed }),
  oracle: () => benchOracle(),
  peers: (plan) =>
    benchPeers({
      ...plan,
      rounds: Math.min(plan.rounds, 2),
      groups: values.peers.split(","),
      before: measuredBefore<Measurement>("peers"),
    }),
  prompts: benchPromptCache,
  retrieval: benchRetrieval,
  s3: ({ seed }) => benchObjectStore(seed),
  stores: ({ seed }) =>
    benchStores({
      seed,
      sizes: values.sizes.split(",").map(Number),
      named: values.stores.split(","),
      before: measuredBefore<StoreMeasurement>("stores"),
      keep: (result) => keep("stores", result),
    }),
  "command-line": () => benchCommandLine(Number(values.threads)),
  studio: () => benchStudio(),
  import: () => benchImport(),
  search: () => benchSearch(Number(values.records)),
  vacuum: () => benchVacuum(Number(values.threads)),
  http: ({ rounds, ...plan }) => benchHttp({ ...plan, rounds: Math.min(rounds, 3) }),
};

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
    sizes: { type: "string", default: "1000,20000,100000" },
    stores: { type: "string", default: "" },
    peers: { type: "string", default: "local,postgres" },
    threads: { type: "string", default: "100000" },
    records: { type: "string", default: "1000000" },
    only: { type: "string", default: Object.keys(PARTS).join(",") },
  },
});
const plan: Plan = { seed: Number(values.seed), rounds: Number(values.rounds), readings: 5 };
const node = process.versions.node;
const results = new URL("results/", import.meta.url);
mkdirSync(results, { recursive: true });
const fileOf = (name: string): URL => new URL(`${name}-node${node.split(".")[0]}.json`, results);

function measuredBefore<Measurement>(name: string): readonly Measurement[] {
  if (!existsSync(fileOf(name))) return [];
  return (JSON.parse(readFileSync(fileOf(name), "utf8")) as { measurements: readonly Measurement[] }).measurements;
}

console.log(
  `One message of ${MESSAGE_BYTES} bytes a step, ${STEPS} steps, ${plan.rounds} rounds, seed ${plan.seed}, Node ${node}`,
);
for (const name of values.only.split(",")) {
  const part = PARTS[name];
  if (part === undefined) throw new Error(`there is no part "${name}"; there are ${Object.keys(PARTS).join(", ")}`);
  const result = await part(plan);
  if (result === undefined) continue;
  const load = keep(name, result);
  console.log(`\n${verdictTable(result.verdicts)}\n\nload of the machine: ${load.toFixed(1)} for each processor`);
  console.log(`written to bench/results/${fileOf(name).pathname.split("/").at(-1)}`);
}

/** Says how many processes wait for each processor. Well above 1, the machine was busy with other things and times say little. */
function keep(name: string, result: PartResult): number {
  const load = (loadavg()[0] ?? 0) / cpus().length;
  const kept = { node, date: new Date().toISOString(), load, ...plan, ...result };
  writeFileSync(fileOf(name), `${JSON.stringify(kept, rounded, 2)}\n`);
  return load;
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
