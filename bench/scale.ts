/**
 * `npm run bench:scale [-- --threads=1000000 --sqlite-threads=200000 --only=postgres,sqlite]`: what grows with the
 * number of threads. The same operations on a store of very many threads and on
 * one of 1,000, side by side; what a thread takes on disk; the memory of a process
 * that serves 10,000. Writes bench/results/scale-*.json and limit-scale.json.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { keepLimits, limit } from "./limits.ts";
import { fillPostgres } from "./scale/fill-postgres.ts";
import { fillSqlite } from "./scale/fill-sqlite.ts";
import { SERVED_THREADS, type ServingMemory, servingMemory } from "./scale/memory.ts";
import { GROWS_WITH_MATCHES, measureSideBySide, OPERATIONS, type Operation, type Timings } from "./scale/operations.ts";
import { plansOf } from "./scale/plans.ts";
import { COMMON_WORD, customerOf, OWN_THREADS, payloadOfAThread, rareWord } from "./scale/sample-threads.ts";
import { type PartSize, postgresSizes, sqliteSizes } from "./scale/sizes.ts";
import { timed } from "./statistics.ts";
import { kilobytes, milliseconds, renderTable, times } from "./table.ts";

const FEW = OWN_THREADS;
const TARGET = 1.5;

export interface ScaleResult {
  readonly storage: "PostgreSQL" | "SQLite";
  readonly threads: number;
  readonly few: number;
  readonly date: string;
  readonly node: string;
  readonly load: number;
  readonly fillSeconds: number;
  readonly payloadBytes: number;
  readonly sizes: readonly PartSize[];
  readonly timings: { readonly many: Timings; readonly few: Timings };
  readonly memory?: ServingMemory;
  /** What the server does for the operations that look at more than one thread. */
  readonly plans?: Readonly<Record<string, readonly string[]>>;
}

const { values } = parseArgs({
  options: {
    threads: { type: "string", default: "1000000" },
    "sqlite-threads": { type: "string", default: "200000" },
    only: { type: "string", default: "postgres,sqlite" },
  },
});

type Measured = Pick<ScaleResult, "fillSeconds" | "sizes" | "timings" | "memory" | "plans">;

/** Told after each step: a run that ends early has kept what it measured. */
type Keep = (measured: Measured) => void;

async function onPostgres(threads: number, keep: Keep): Promise<void> {
  const settings = { shared_buffers: "1GB", max_wal_size: "8GB", checkpoint_timeout: "30min" };
  const server = await startPostgres({ settings });
  try {
    const fillSeconds = (await timed(() => fillPostgres(server.url, "many", threads))) / 1000;
    await fillPostgres(server.url, "few", FEW);
    const sizes = await postgresSizes(server.url, "many");
    const patience = { connectTimeoutMs: 60_000, maxConnections: 2 };
    const open = (schema: string) => postgresqlCheckpointer({ dsn: server.url, schema, ...patience });
    const [many, few] = [open("many"), open("few")];
    const timings = await sideBySide({
      many: { threads, checkpointer: many },
      few: { threads: FEW, checkpointer: few },
    });
    await many.close();
    await few.close();
    keep({ fillSeconds, sizes, timings });
    const memory = await servingMemory(`${server.url}?schema=many`, Math.min(threads, SERVED_THREADS));
    keep({ fillSeconds, sizes, timings, memory });
    const plans = {
      list: await plansOf(server.url, "many", (checkpointer) => checkpointer.listThreads({ limit: 50 })),
      metadata: await plansOf(server.url, "many", (checkpointer) =>
        checkpointer.queryByMetadata("customer", customerOf(1), { limit: 50 }),
      ),
      "a rare word": await plansOf(server.url, "many", (checkpointer) => checkpointer.search(rareWord(1))),
      "a common word": await plansOf(server.url, "many", (checkpointer) => checkpointer.search(COMMON_WORD)),
    };
    keep({ fillSeconds, sizes, timings, memory, plans });
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}

async function onSqlite(threads: number, keep: Keep): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-scale-"));
  const path = (name: string): string => join(folder, `${name}.db`);
  try {
    const fillSeconds = (await timed(() => fillSqlite(path("many"), threads))) / 1000;
    await fillSqlite(path("few"), FEW);
    const sizes = sqliteSizes(path("many"));
    const [many, few] = [sqliteCheckpointer({ path: path("many") }), sqliteCheckpointer({ path: path("few") })];
    const timings = await sideBySide({
      many: { threads, checkpointer: many },
      few: { threads: FEW, checkpointer: few },
    });
    await many.close();
    await few.close();
    keep({ fillSeconds, sizes, timings });
    const memory = await servingMemory(`sqlite:${path("many")}`, Math.min(threads, SERVED_THREADS));
    keep({ fillSeconds, sizes, timings, memory });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Store = Parameters<typeof measureSideBySide>[0][number];

async function sideBySide({
  many,
  few,
}: {
  readonly many: Store;
  readonly few: Store;
}): Promise<ScaleResult["timings"]> {
  const [ofMany, ofFew] = await measureSideBySide([many, few]);
  if (ofMany === undefined || ofFew === undefined) throw new Error("nothing was measured");
  return { many: ofMany, few: ofFew };
}

/** The operation that is slowest in comparison. */
function slowest({ many, few }: ScaleResult["timings"], share: "p50" | "p99"): readonly [Operation, number] {
  const ratios = OPERATIONS.filter((operation) => !GROWS_WITH_MATCHES.has(operation)).map(
    (operation) => [operation, many[operation][share] / few[operation][share]] as const,
  );
  return ratios.toSorted(([, a], [, b]) => b - a)[0] ?? ["load", Number.NaN];
}

function keepRows({ storage, threads, timings }: ScaleResult): void {
  const size = threads.toLocaleString("en");
  const rows = (["p50", "p99"] as const).map((share) => {
    const [operation, ratio] = slowest(timings, share);
    const what = `${storage === "SQLite" ? "200,000" : "1,000,000"} threads / 1,000 threads on ${storage}, the slowest ${share}`;
    const shown = `${times(ratio)} (${milliseconds(timings.many[operation][share])})`;
    return limit(what, shown, ratio <= TARGET, `${operation}; measured with ${size} threads`);
  });
  keepLimits("scale", rows);
}

function print({ storage, threads, timings: { many, few }, sizes, memory, ...rest }: ScaleResult): void {
  const rows = OPERATIONS.map((operation) => {
    const [a, b] = [many[operation], few[operation]];
    const ratios = [times(a.p50 / b.p50), times(a.p99 / b.p99)];
    return [operation, ...[b.p50, a.p50, b.p99, a.p99].map(milliseconds), ...ratios];
  });
  const head = [`${storage}, p50 and p99`, `p50 of ${FEW}`, `of ${threads}`, `p99 of ${FEW}`, `of ${threads}`];
  console.log(`\n${renderTable([...head, "p50", "p99"], rows)}`);
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  console.log(
    `${(total / threads).toFixed(0)} bytes a thread for ${(rest.payloadBytes / threads).toFixed(0)} of messages`,
  );
  for (const { name, bytes, depth } of sizes) {
    console.log(`  ${name}: ${kilobytes(bytes)}${depth === undefined ? "" : `, depth ${depth}`}`);
  }
  if (memory === undefined) return;
  const { rssBytes, heapBytesAThread } = memory;
  console.log(
    `${memory.threads} threads served: ${kilobytes(rssBytes)} in all, ${heapBytesAThread.toFixed(0)} bytes a thread`,
  );
  console.log(`filled in ${rest.fillSeconds.toFixed(0)} s`);
}

mkdirSync(new URL("results/", import.meta.url), { recursive: true });
for (const name of values.only.split(",")) {
  const isPostgres = name === "postgres";
  const threads = Number(isPostgres ? values.threads : values["sqlite-threads"]);
  await (isPostgres ? onPostgres : onSqlite)(threads, (measured) => {
    const result: ScaleResult = {
      storage: isPostgres ? "PostgreSQL" : "SQLite",
      threads,
      few: FEW,
      date: new Date().toISOString(),
      node: process.versions.node,
      load: (loadavg()[0] ?? 0) / cpus().length,
      payloadBytes: payloadOfAThread() * threads,
      ...measured,
    };
    print(result);
    writeFileSync(new URL(`results/scale-${name}.json`, import.meta.url), `${JSON.stringify(result, null, 2)}\n`);
    keepRows(result);
  });
}
