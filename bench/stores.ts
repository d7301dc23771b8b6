/**
 * Stores: how long a put, a get, a search by words and one by vector take at
 * 1,000, 20,000 and 100,000 items of 384 numbers, and how many of the ten nearest
 * are found, with filters that keep all, half, one in a hundred and one in ten
 * thousand. Beside LangGraph's InMemoryStore and PostgresStore.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryStore } from "../src/backends/memory/index.ts";
import { postgresqlStore } from "../src/backends/postgres/index.ts";
import { redisStore } from "../src/backends/redis/index.ts";
import { sqliteStore } from "../src/backends/sqlite/index.ts";
import { clusteredVectors, nearest } from "../src/testing/store-cases/sample-vectors.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { startRedis } from "../test/services/redis.ts";
import type { TestServer } from "../test/services/server-process.ts";
import { SERVICES } from "../test/services/services.ts";
import { holdfastStore, langgraphMemory, langgraphPostgres, type StoreContender } from "./contenders/stores.ts";
import { milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const DIMENSION = 384;
const CLUSTERS = 200;
const QUERIES = 30;
const SHARES = [1, 2, 100, 10_000] as const;

export interface StoreMeasurement {
  readonly name: string;
  readonly items: number;
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
  /** Only those whose names hold this text. */
  readonly named: string;
}

export async function benchStores({ seed, sizes, named }: StorePlan): Promise<{
  readonly measurements: readonly StoreMeasurement[];
  readonly verdicts: readonly Verdict[];
}> {
  const largest = Math.max(...sizes);
  const all = clusteredVectors(largest + QUERIES, DIMENSION, CLUSTERS, seed);
  const queries = all.slice(largest);
  const measurements: StoreMeasurement[] = [];
  for (const size of sizes) {
    const servers: TestServer[] = [];
    const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-stores-"));
    try {
      for (const { contender, most } of await contenders(folder, servers)) {
        if (size <= most && contender.name.includes(named))
          measurements.push(await measure(contender, all.slice(0, size), queries));
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
  console.log(`\n${table(measurements)}`);
  return { measurements, verdicts: judge(measurements) };
}

async function contenders(folder: string, servers: TestServer[]): Promise<readonly Made[]> {
  const made: Made[] = [
    { contender: holdfastStore("holdfast memory", new InMemoryStore()), most: Number.POSITIVE_INFINITY },
    { contender: holdfastStore("holdfast sqlite", sqliteStore({ path: join(folder, "items.db") })), most: 100_000 },
    { contender: langgraphMemory(), most: 20_000 },
  ];
  if (await SERVICES.pgvector.isHere()) {
    const server = await startPostgres({ pgvector: true });
    servers.push(server);
    const dsn = server.url;
    made.push(
      { contender: await langgraphPostgres(dsn, DIMENSION), most: 20_000 },
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
    );
  } else console.log(`\npgvector is not measured: ${SERVICES.pgvector.howToGet}`);
  if (await SERVICES.redis.isHere()) {
    const server = await startRedis();
    servers.push(server);
    made.push({ contender: holdfastStore("holdfast redis", redisStore({ url: server.url })), most: 10_000 });
  } else console.log(`\nredis is not measured: ${SERVICES.redis.howToGet}`);
  return made;
}

/** Which of every so many an item is: the same in all clusters, so that a filter by it keeps some of each. */
const turnOf = (index: number, every: number): number => (index + Math.floor(index / CLUSTERS)) % every;

async function measure(
  contender: StoreContender,
  vectors: readonly number[][],
  queries: readonly number[][],
): Promise<StoreMeasurement> {
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
    await contender.fill(Array.from({ length: Math.min(500, vectors.length - at) }, (_, index) => item(at + index)));
  }
  await contender.filled();
  const fillSeconds = (performance.now() - startedAt) / 1000;
  const filtered: Record<string, Percentiles & { recall: number; isFull: boolean }> = {};
  for (const every of SHARES) filtered[every] = await measureFilter(contender, vectors, queries, every);
  const each = (work: (index: number) => Promise<unknown>): Promise<Percentiles> =>
    timesOf(Array.from({ length: 50 }, (_, index) => () => work(index)));
  return {
    name: contender.name,
    items: vectors.length,
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
  vectors: readonly number[][],
  queries: readonly number[][],
  every: number,
): Promise<Percentiles & { recall: number; isFull: boolean }> {
  const keep = (index: number): boolean => every === 1 || turnOf(index, every) === 7 % every;
  const filter = every === 1 ? undefined : { [`of${every}`]: 7 % every };
  let [found, wanted, isFull] = [0, 0, true];
  const times = await timesOf(
    queries.map((query) => async () => {
      const keys = await contender.searchVector(query, 10, filter);
      const best = new Set(nearest(vectors, query, 10, keep).map((index) => `v${index}`));
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
  for (const work of works) {
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
