/**
 * Stores: how long a put, a get, a search by words and one by vector take at
 * 1,000, 20,000 and 100,000 items of 384 numbers, and how many of the ten nearest
 * are found, with filters that keep all, half, one in a hundred and one in ten
 * thousand. Beside LangGraph's InMemoryStore and PostgresStore.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { HTTPStore } from "../src/backends/http/index.ts";
import { InMemoryStore } from "../src/backends/memory/index.ts";
import { postgresqlStore } from "../src/backends/postgres/index.ts";
import { redisStore } from "../src/backends/redis/index.ts";
import { sqliteStore } from "../src/backends/sqlite/index.ts";
import { serve } from "../src/entry/server.ts";
import { TopHits } from "../src/store/search/top-hits.ts";
import { dot } from "../src/store/search/vectors.ts";
import { clusteredVectors } from "../src/testing/store-cases/sample-vectors.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { startRedis } from "../test/services/redis.ts";
import type { TestServer } from "../test/services/server-process.ts";
import { SERVICES } from "../test/services/services.ts";
import {
  databaseWithoutExtension,
  holdfastStore,
  langgraphMemory,
  langgraphPostgres,
  type StoreContender,
} from "./contenders/stores.ts";
import { milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const DIMENSION = 384;
const CLUSTERS = 200;
const QUERIES = 30;
const SHARES = [1, 2, 100, 10_000] as const;
/** A store that is not filled by then is left out, and the run says so. */
const LONGEST_FILL_MS = 2_400_000;
/** A graph of 100,000 vectors is made in memory, and by one process: the others have their share of two processors. */
const INDEX_SETTINGS = { maintenance_work_mem: "1GB", max_parallel_maintenance_workers: "0" };
/** How long one kind of question is asked, and how often at least: a slow store is measured with fewer. */
const LONGEST_ASKING_MS = 20_000;
const LEAST_QUESTIONS = 5;

export interface StoreMeasurement {
  readonly name: string;
  readonly items: number;
  /** When, and how many processes waited for each processor then: well above 1, times say little. */
  readonly date: string;
  readonly load: number;
  readonly fillSeconds: number;
  readonly putMs: Percentiles;
  readonly getMs: Percentiles;
  readonly textMs: Percentiles;
  readonly vectorMs: Percentiles;
  /** By how many items a filter keeps one of: its times, and the share of the nearest that was found. */
  readonly filtered: Readonly<Record<string, Percentiles & { readonly recall: number; readonly isFull: boolean }>>;
}

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

interface Made {
  readonly contender: StoreContender;
  /** It refuses above this many vectors, or is too slow to be waited for. */
  readonly most: number;
}

export interface StorePlan {
  readonly seed: number;
  readonly sizes: readonly number[];
  /** Only the stores whose names contain one of these texts. */
  readonly named: readonly string[];
  /** What was measured before: it stays unless it is measured again. 100,000 items take long, and may be run by themselves. */
  readonly before: readonly StoreMeasurement[];
  /** Told after each of them: a run that is ended early has kept what it measured. */
  readonly keep: (result: StoresResult) => void;
}

export interface StoresResult {
  readonly measurements: readonly StoreMeasurement[];
  readonly verdicts: readonly Verdict[];
}

export async function benchStores({ seed, sizes, named, before, keep }: StorePlan): Promise<StoresResult> {
  const largest = Math.max(...sizes);
  const all = clusteredVectors(largest + QUERIES, DIMENSION, CLUSTERS, seed);
  const queries = all.slice(largest);
  const measurements: StoreMeasurement[] = [];
  for (const size of sizes) {
    const servers: TestServer[] = [];
    const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-stores-"));
    try {
      for (const { contender, most } of await contenders(folder, servers)) {
        const [{ name }, count] = [contender, Math.min(size, most)];
        const isKnown = measurements.some((other) => other.name === name && other.items === count);
        if (!isKnown && named.some((text) => name.includes(text))) {
          const measured = await measure(contender, new Truth(all.slice(0, count), queries));
          if (measured !== undefined) {
            measurements.push(measured);
            keep(together(before, measurements));
          }
          console.log(measured === undefined ? `${name}, ${count}: not filled in time` : `${table([measured])}\n`);
        }
        await contender.close();
      }
    } finally {
      for (const server of servers) {
        await server.stop();
        rmSync(server.folder, { recursive: true, force: true });
      }
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const result = together(before, measurements);
  console.log(`\n${table(result.measurements)}`);
  return result;
}

function together(before: readonly StoreMeasurement[], measured: readonly StoreMeasurement[]): StoresResult {
  const isAgain = ({ name, items }: StoreMeasurement): boolean =>
    measured.some((other) => other.name === name && other.items === items);
  const measurements = [...before.filter((one) => !isAgain(one)), ...measured].sort((a, b) => a.items - b.items);
  return { measurements, verdicts: judge(measurements) };
}

async function contenders(folder: string, servers: TestServer[]): Promise<readonly Made[]> {
  const made: Made[] = [
    { contender: holdfastStore("holdfast memory", new InMemoryStore()), most: Number.POSITIVE_INFINITY },
    { contender: holdfastStore("holdfast sqlite", sqliteStore({ path: join(folder, "items.db") })), most: 100_000 },
    { contender: await servedMemory(), most: 20_000 },
    { contender: langgraphMemory(), most: 100_000 },
  ];
  if (await SERVICES.pgvector.isHere()) {
    const server = await startPostgres({ pgvector: true, settings: INDEX_SETTINGS });
    servers.push(server);
    const dsn = server.url;
    made.push(
      { contender: await langgraphPostgres(dsn, DIMENSION), most: 100_000 },
      { contender: holdfastStore("holdfast postgres, exact", postgresqlStore({ dsn })), most: 100_000 },
      {
        // The index is made when the items are there: a live one is filled ten times as slowly.
        contender: holdfastStore("holdfast postgres, index", postgresqlStore({ dsn, tablePrefix: "indexed_" }), () =>
          postgresqlStore({
            dsn,
            tablePrefix: "indexed_",
            dimension: DIMENSION,
            vectorIndex: true,
            statementTimeoutMs: 600_000,
          }),
        ),
        most: 100_000,
      },
      {
        contender: holdfastStore(
          "holdfast postgres, no pgvector",
          postgresqlStore({ dsn: await databaseWithoutExtension(dsn) }),
        ),
        most: 10_000,
      },
    );
  } else console.log(`\npgvector is not measured: ${SERVICES.pgvector.howToGet}`);
  if (await SERVICES.redis.isHere()) {
    const server = await startRedis();
    servers.push(server);
    made.push({ contender: holdfastStore("holdfast redis", redisStore({ url: server.url })), most: 10_000 });
  } else console.log(`\nredis is not measured: ${SERVICES.redis.howToGet}`);
  return made;
}

/** Through the service on loopback, in this process: what HTTP adds. */
async function servedMemory(): Promise<StoreContender> {
  const behind = new InMemoryStore();
  const service = await serve({ store: behind, port: 0, rateLimit: false });
  const contender = holdfastStore("holdfast http to memory", new HTTPStore({ baseUrl: service.url }));
  const close = async (): Promise<void> => {
    await contender.close();
    await service.close();
    await behind.close();
  };
  return { ...contender, close };
}

/** The vectors of a run, and which of them are nearest: found out once for every question and filter. */
class Truth {
  readonly vectors: readonly number[][];
  readonly queries: readonly number[][];
  readonly #matrix: Float32Array;
  readonly #known = new Map<string, ReadonlySet<string>>();

  constructor(vectors: readonly number[][], queries: readonly number[][]) {
    this.vectors = vectors;
    this.queries = queries;
    this.#matrix = new Float32Array(vectors.length * DIMENSION);
    for (const [index, vector] of vectors.entries()) this.#matrix.set(vector, index * DIMENSION);
  }

  nearest(query: number, every: number): ReadonlySet<string> {
    const name = `${query} ${every}`;
    const known = this.#known.get(name) ?? this.#compare(Float32Array.from(this.queries[query] ?? []), every);
    this.#known.set(name, known);
    return known;
  }

  /** All of them have the length 1, so the products are the cosines. */
  #compare(query: Float32Array, every: number): ReadonlySet<string> {
    const best = new TopHits<string>(10);
    for (let index = 0; index < this.vectors.length; index++) {
      if (isKept(index, every)) best.add(`v${index}`, dot(query, this.#matrix, index * DIMENSION));
    }
    return new Set(best.list().map(({ item }) => item));
  }
}

const isKept = (index: number, every: number): boolean => every === 1 || turnOf(index, every) === 7 % every;

/**
 * The position of an item in each run of `every`: the same in all clusters, so that a filter by it keeps some
 * of each.
 */
const turnOf = (index: number, every: number): number => (index + Math.floor(index / CLUSTERS)) % every;

async function measure(contender: StoreContender, truth: Truth): Promise<StoreMeasurement | undefined> {
  const { vectors } = truth;
  const item = (index: number) => ({
    key: `v${index}`,
    value: {
      text: `note ${index} about topic${index % CLUSTERS} and word${index % 997}`,
      ...Object.fromEntries(SHARES.map((every) => [`of${every}`, turnOf(index, every)])),
    },
    embedding: vectors[index] ?? [],
  });
  const startedAt = performance.now();
  for (let at = 0; at < vectors.length; at += 500) {
    if (performance.now() - startedAt > LONGEST_FILL_MS) return undefined;
    await contender.fill(Array.from({ length: Math.min(500, vectors.length - at) }, (_, index) => item(at + index)));
  }
  await contender.filled();
  const fillSeconds = (performance.now() - startedAt) / 1000;
  const filtered: Record<string, Percentiles & { recall: number; isFull: boolean }> = {};
  for (const every of SHARES) filtered[every] = await measureFilter(contender, truth, every);
  const each = (work: (index: number) => Promise<unknown>): Promise<Percentiles> =>
    timesOf(Array.from({ length: 50 }, (_, index) => () => work(index)));
  return {
    name: contender.name,
    items: vectors.length,
    date: new Date().toISOString(),
    load: (loadavg()[0] ?? 0) / cpus().length,
    fillSeconds,
    getMs: await each((index) => contender.get(`v${(index * 37) % vectors.length}`)),
    textMs: await each((index) => contender.searchText(`what about topic${index} and word${index * 3}?`)),
    vectorMs: filtered[1] ?? { p50: Number.NaN, p99: Number.NaN },
    filtered,
    putMs: await each((index) => contender.put(item(index))),
  };
}

async function measureFilter(
  contender: StoreContender,
  truth: Truth,
  every: number,
): Promise<Percentiles & { recall: number; isFull: boolean }> {
  const filter = every === 1 ? undefined : { [`of${every}`]: 7 % every };
  let [found, wanted, isFull] = [0, 0, true];
  const times = await timesOf(
    truth.queries.map((query, at) => async () => {
      const keys = await contender.searchVector(query, 10, filter);
      const best = truth.nearest(at, every);
      found += keys.filter((key) => best.has(key)).length;
      wanted += best.size;
      isFull &&= keys.length === best.size;
      return keys;
    }),
    contender,
  );
  return { ...times, recall: wanted === 0 ? 1 : found / wanted, isFull };
}

/** What the contender itself took: finding out the truth is not counted. */
async function timesOf(works: readonly (() => Promise<unknown>)[], contender?: StoreContender): Promise<Percentiles> {
  const times: number[] = [];
  const end = performance.now() + LONGEST_ASKING_MS;
  for (const work of works) {
    if (performance.now() > end && times.length >= LEAST_QUESTIONS) break;
    const start = performance.now();
    await work();
    times.push(contender?.lastMs ?? performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

function judge(measurements: readonly StoreMeasurement[]): readonly Verdict[] {
  return measurements
    .filter(({ name }) => name.startsWith("holdfast"))
    .map(({ name, items, filtered }) => {
      const all = Object.values(filtered);
      const worst = Math.min(...all.map(({ recall, isFull }) => (isFull ? recall : 0)));
      // `verdict` is about what must not be exceeded: here it is what is missing.
      return verdict(
        `${name}, ${items}: recall@10 at least 0.97 with every filter, and full`,
        0.03,
        1 - worst,
        worst.toFixed(3),
      );
    });
}

function table(measurements: readonly StoreMeasurement[]): string {
  const cell = ({ p50, p99 }: Percentiles): string => `${milliseconds(p50)} / ${milliseconds(p99)}`;
  const rows = measurements.map(({ name, items, fillSeconds, putMs, getMs, textMs, filtered }) => [
    name,
    String(items),
    `${fillSeconds.toFixed(1)} s`,
    cell(putMs),
    cell(getMs),
    cell(textMs),
    ...SHARES.map((every) => {
      const one = filtered[every];
      return one === undefined
        ? "-"
        : `${milliseconds(one.p50)} (${one.recall.toFixed(2)}${one.isFull ? "" : ", short"})`;
    }),
  ]);
  const shares = ["all", "50 %", "1 %", "0.01 %"].map((share) => `vector, ${share} (recall)`);
  return renderTable(["p50 / p99", "items", "fill", "put", "get", "words", ...shares], rows);
}
