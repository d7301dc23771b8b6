/**
 * `npm run bench -- --only=search --records=1000000`: the first page of a search
 * among very many records, on PostgreSQL and SQLite: of a rare word, and of words
 * that more records have than are ranked.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { searchWords } from "../src/state/words.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { SERVICES } from "../test/services/services.ts";
import { keepLimits, limit } from "./limits.ts";
import { fillPostgres } from "./scale/fill-postgres.ts";
import { fillSqlite } from "./scale/fill-sqlite.ts";
import { CHECKPOINTS, COMMON_WORD, OWN_THREADS, rareWord, statesOf } from "./scale/sample-threads.ts";
import { median } from "./statistics.ts";
import { milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const TARGET_MS = 100;
const TARGET_RECORDS = 1_000_000;
const TIMES = 25;

type Storage = "PostgreSQL" | "SQLite";

interface SearchMeasurement {
  readonly storage: Storage;
  readonly records: number;
  readonly rows: readonly {
    readonly what: "rare" | "common";
    readonly words: string;
    readonly order: string;
    readonly hits: number;
    readonly medianMs: number;
    readonly leastMs: number;
  }[];
}

/** The word that most records have. */
function mostFrequent(): string {
  const counts = new Map<string, number>();
  for (let index = 0; index < OWN_THREADS; index++) {
    for (const message of statesOf(index).at(-1)?.messages ?? []) {
      for (const word of new Set(searchWords(String(message.content)))) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? COMMON_WORD;
}

async function measured(storage: Storage, records: number, checkpointer: Checkpointer): Promise<SearchMeasurement> {
  const frequent = mostFrequent();
  // Catches up, and opens the connection.
  await checkpointer.search("catch up with all");
  const questions = [
    { what: "rare", words: () => rareWord(Math.floor(Math.random() * OWN_THREADS)) },
    { what: "common", words: () => COMMON_WORD },
    { what: "common", words: () => frequent },
    { what: "common", words: () => `${frequent} ${COMMON_WORD}` },
  ] as const;
  const rows = [];
  for (const { what, words } of questions) {
    const times: number[] = [];
    let last = await checkpointer.search(words());
    for (let time = 0; time < TIMES; time++) {
      const asked = words();
      const begun = performance.now();
      last = await checkpointer.search(asked);
      times.push(performance.now() - begun);
    }
    if (what === "common" && records >= TARGET_RECORDS && last.order !== "newest")
      throw new Error(`${words()} is not common: ${last.order} first`);
    rows.push({
      what,
      words: what === "rare" ? "a rare word" : words(),
      order: last.order,
      hits: last.length,
      medianMs: median(times),
      leastMs: Math.min(...times),
    });
  }
  await checkpointer.close();
  return { storage, records, rows };
}

async function onPostgres(records: number): Promise<SearchMeasurement> {
  const settings = { shared_buffers: "1GB", max_wal_size: "8GB", checkpoint_timeout: "30min" };
  const server = await startPostgres({ settings });
  try {
    await fillPostgres(server.url, "search", Math.ceil(records / CHECKPOINTS));
    const options = { dsn: server.url, schema: "search", connectTimeoutMs: 60_000 };
    return await measured("PostgreSQL", records, postgresqlCheckpointer(options));
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}

async function onSqlite(records: number): Promise<SearchMeasurement> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-search-"));
  try {
    const path = join(folder, "search.db");
    await fillSqlite(path, Math.ceil(records / CHECKPOINTS));
    return await measured("SQLite", records, sqliteCheckpointer({ path }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function benchSearch(records: number): Promise<{
  readonly measurements: readonly SearchMeasurement[];
  readonly verdicts: readonly Verdict[];
}> {
  const found = [await onSqlite(records)];
  if (await SERVICES.postgres.isHere()) found.push(await onPostgres(records));
  else console.log(`\npostgres is not measured: ${SERVICES.postgres.howToGet}`);
  for (const { storage, rows } of found) {
    const cells = rows.map(({ words, order, hits, medianMs, leastMs }) => [
      ...[words, order, String(hits), milliseconds(medianMs), milliseconds(leastMs)],
    ]);
    console.log(`\n${renderTable([`${storage}, ${records} records`, "order", "hits", "median", "least"], cells)}`);
  }
  const slowest = found.flatMap(({ storage, rows }) =>
    (["rare", "common"] as const).map((what) => {
      const worst = rows.filter((row) => row.what === what).toSorted((a, b) => b.medianMs - a.medianMs)[0];
      return { storage, what, ms: worst?.medianMs ?? Number.NaN, words: worst?.words ?? "" };
    }),
  );
  const how = records === TARGET_RECORDS ? "" : `; measured among ${records.toLocaleString("en")} records`;
  keepLimits(
    "search",
    slowest.map(({ storage, what, ms, words }) =>
      limit(
        `search of a ${what} word among 1,000,000 records, ${storage}`,
        milliseconds(ms),
        ms <= TARGET_MS,
        `the first page of ${words}${what === "common" ? ", newest first" : ""}${how}`,
      ),
    ),
  );
  const verdicts = slowest.map(({ storage, what, ms }) =>
    verdict(`${storage}: the first page of a ${what} word within ${TARGET_MS} ms`, TARGET_MS, ms, milliseconds(ms)),
  );
  return { measurements: found, verdicts };
}
