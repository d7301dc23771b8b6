/**
 * `npm run bench [-- --seed=1 --rounds=5 --only=agent,postgres --sizes=1000,20000 --stores=sqlite]`: ours and
 * LangGraph.js' on the same conversation in one run, with one raw statement as
 * the floor. Prints tables and writes bench/results. A missed target is shown;
 * it fails nothing.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { type Measurement, type Plan, STEPS } from "./checkpointers.ts";
import type { StoreMeasurement } from "./stores.ts";
import { renderTable } from "./table.ts";
import type { Verdict } from "./targets.ts";
import { MESSAGE_BYTES } from "./workload.ts";

interface PartResult {
  readonly verdicts: readonly Verdict[];
}

/**
 * Each prints its own table. `undefined` where it could not be measured, and says why. Imported when it is measured:
 * with all of them, every full collection of one part's garbage would go through 100 MB of modules that it does not use.
 */
const STUDIO_BENCH = new URL("../test/wide/studio-bench.ts", import.meta.url).href;

const PARTS: Readonly<Record<string, (plan: Plan) => Promise<PartResult | undefined>>> = {
  core: async (plan) => (await import("./core.ts")).benchCore(plan),
  length: async (plan) => (await import("./length.ts")).benchLength(plan),
  checkpointers: async (plan) => (await import("./local.ts")).benchLocal(plan),
  erasing: async ({ rounds, seed }) =>
    (await import("./erasing.ts")).benchErasing({ rounds: Math.min(rounds, 3), seed }),
  sealing: async ({ rounds }) => (await import("./sealing.ts")).benchSealing({ rounds }),
  graphs: async () => (await import("./graphs.ts")).benchGraphs(),
  files: async ({ seed }) => (await import("./long-files.ts")).benchLongFiles(seed),
  agent: async ({ rounds, seed }) => (await import("./agent.ts")).benchAgent({ rounds: Math.min(rounds, 3), seed }),
  overlap: async ({ rounds }) => (await import("./slow-store.ts")).benchSlowStore({ rounds: Math.min(rounds, 3) }),
  postgres: async (plan) =>
    (await import("./servers.ts")).benchServer("postgres", { ...plan, rounds: Math.min(plan.rounds, 2) }),
  redis: async (plan) => (await import("./servers.ts")).benchServer("redis", plan),
  bytes: async () => (await import("./bytes.ts")).benchBytes(),
  writers: async ({ rounds, seed }) => (await import("./writers.ts")).benchWriters({ rounds, seed }),
  oracle: async () => (await import("./oracle.ts")).benchOracle(),
  peers: async (plan) =>
    (await import("./peers.ts")).benchPeers({
      ...plan,
      rounds: Math.min(plan.rounds, 2),
      groups: values.peers.split(","),
      before: measuredBefore<Measurement>("peers"),
    }),
  prompts: async () => (await import("./prompt-cache.ts")).benchPromptCache(),
  retrieval: async () => (await import("./retrieval.ts")).benchRetrieval(),
  s3: async ({ seed }) => (await import("./object-store.ts")).benchObjectStore(seed),
  dynamodb: async () => (await import("./dynamodb.ts")).benchDynamodb(),
  stores: async ({ seed }) =>
    (await import("./stores.ts")).benchStores({
      seed,
      sizes: values.sizes.split(",").map(Number),
      named: values.stores.split(","),
      before: measuredBefore<StoreMeasurement>("stores"),
      keep: (result) => keep("stores", result),
    }),
  "command-line": async () => (await import("./command-line.ts")).benchCommandLine(Number(values.threads)),
  // In a real browser: it needs the packages of test/wide.
  studio: async () => (await import(STUDIO_BENCH)).benchStudio(),
  import: async () => (await import("./import.ts")).benchImport(),
  search: async () => (await import("./search.ts")).benchSearch(Number(values.records)),
  vacuum: async () => (await import("./vacuum.ts")).benchVacuum(Number(values.threads)),
  http: async ({ rounds, ...plan }) => (await import("./http.ts")).benchHttp({ ...plan, rounds: Math.min(rounds, 3) }),
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
const names = values.only.split(",");
for (const name of names) {
  if (PARTS[name] === undefined) {
    throw new Error(`there is no part "${name}"; there are ${Object.keys(PARTS).join(", ")}`);
  }
}
for (const name of names) await (names.length === 1 ? measure(name) : inProcessOfItsOwn(name));

async function measure(name: string): Promise<void> {
  const result = await PARTS[name]?.(plan);
  if (result === undefined) return;
  const load = keep(name, result);
  console.log(`\n${verdictTable(result.verdicts)}\n\nload of the machine: ${load.toFixed(1)} for each processor`);
  console.log(`written to bench/results/${fileOf(name).pathname.split("/").at(-1)}`);
}

/** What one part leaves for the garbage collector, the next one does not pay for. */
async function inProcessOfItsOwn(name: string): Promise<void> {
  const options = Object.entries({ ...values, only: name }).map(([option, value]) => `--${option}=${value}`);
  const [code] = await once(fork(import.meta.filename, options, { execArgv: ["--import", "tsx"] }), "exit");
  if (code !== 0) throw new Error(`the part "${name}" ended with ${code}`);
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
