/**
 * What the bytes of a thread are: 400 messages of 1 KB of ordinary prose (this
 * project's own pages), and how much of each table and index is kept for them. The
 * index of words is listed by itself: an application that does not search needs none of
 * it.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { postgresqlCheckpointer } from "../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { openDatabase } from "../src/backends/sqlite/open-file.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import { startPostgres } from "../test/services/postgres.ts";
import { SERVICES } from "../test/services/services.ts";
import { keepLimits, limit } from "./limits.ts";
import { kilobytes, renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";
import { MESSAGE_BYTES } from "./workload.ts";

const MESSAGES = 400;

/** What one table or index takes. */
export interface Part {
  readonly name: string;
  readonly bytes: number;
}

export interface BytesMeasurement {
  readonly name: keyof typeof GOALS;
  readonly parts: readonly Part[];
  /** How many times the messages fit into everything but the index of words, and into that. */
  readonly withoutWords: number;
  readonly words: number;
}

interface Goal {
  readonly line: string;
  readonly limit: number;
}

const GOALS: Readonly<Record<"sqlite" | "postgres", Goal>> = {
  sqlite: { line: "bytes on SQLite / payload", limit: 1.6 },
  postgres: { line: "bytes on PostgreSQL / payload", limit: 2.5 },
};
const WORDS_LINE = "bytes of the words index / payload";

/** Prints a table; the rows and the verdicts are for bench/results. */
export async function benchBytes(): Promise<{
  readonly measurements: readonly BytesMeasurement[];
  readonly verdicts: readonly Verdict[];
}> {
  const found = [measured("sqlite", await onSqlite())];
  if (await SERVICES.postgres.isHere()) found.push(measured("postgres", await onPostgres()));
  else console.log(`\npostgres is not measured: ${SERVICES.postgres.howToGet}`);
  for (const { name, parts } of found) {
    const rows = parts.map((part) => [part.name, kilobytes(part.bytes), times(part.bytes / payload)]);
    console.log(`\n${renderTable([name, "bytes", "of the messages"], rows)}`);
  }
  keep(found);
  const verdicts = found.flatMap(({ name, withoutWords, words }) => {
    const most = GOALS[name].limit;
    const target = `${name}: at most ${most}x the messages without the index of words`;
    return [
      verdict(target, most, withoutWords, times(withoutWords)),
      verdict(`${name}: the index of words at most 1x the messages`, 1, words, times(words)),
    ];
  });
  return { measurements: found, verdicts };
}

function keep(found: readonly BytesMeasurement[]): void {
  const largest = Math.max(...found.map(({ words }) => words));
  const each = found.map(({ name, words }) => `${name} ${times(words)}`).join(", ");
  const [row, index] = ["words", "words_by_word"].map((part) => times(shareOf(found, part)));
  const why = `PostgreSQL keeps each record's words twice: in the row that the index points to (${row}), and in the index (${index})`;
  keepLimits("bytes", [
    ...found.map(({ name, withoutWords }) =>
      limit(GOALS[name].line, times(withoutWords), withoutWords <= GOALS[name].limit, "without the index of words"),
    ),
    limit(WORDS_LINE, each, largest <= 1, ...(largest <= 1 ? [] : [why])),
  ]);
}

const payload = MESSAGES * MESSAGE_BYTES;

/** How many times the messages fit into one table or index of PostgreSQL. */
function shareOf(found: readonly BytesMeasurement[], name: string): number {
  const parts = found.find((measurement) => measurement.name === "postgres")?.parts ?? [];
  return (parts.find((part) => part.name === name)?.bytes ?? 0) / payload;
}

function measured(name: keyof typeof GOALS, parts: readonly Part[]): BytesMeasurement {
  const sum = (some: readonly Part[]): number => some.reduce((total, { bytes }) => total + bytes, 0) / payload;
  const isWords = (part: Part): boolean => /(words|indexed|terms)/.test(part.name) && !part.name.startsWith("threads");
  const kept = parts.filter(({ bytes }) => bytes > 0);
  return {
    name,
    parts: kept,
    withoutWords: sum(kept.filter((part) => !isWords(part))),
    words: sum(kept.filter(isWords)),
  };
}

/** The pages of docs/, cut into messages. */
function prose(): readonly string[] {
  const folder = new URL("../docs/", import.meta.url);
  const pages = readdirSync(folder).filter((name) => name.endsWith(".md"));
  const text = pages
    .map((name) => readFileSync(new URL(name, folder), "utf8").replaceAll(/[^\x20-\x7e\n]/g, ""))
    .join("\n");
  const messages = Array.from({ length: Math.floor(text.length / MESSAGE_BYTES) }, (_, index) =>
    text.slice(index * MESSAGE_BYTES, (index + 1) * MESSAGE_BYTES),
  );
  return Array.from({ length: MESSAGES }, (_, index) => messages[index % messages.length] ?? "");
}

async function fill(checkpointer: Checkpointer): Promise<void> {
  let state = AgentState.create();
  for (const text of prose()) {
    state = state.withMessage(userMessage(text));
    await checkpointer.save(state, "conversation");
  }
  // Brings the index up to date.
  await checkpointer.search("word");
  await checkpointer.close();
}

async function onSqlite(): Promise<readonly Part[]> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-bytes-"));
  try {
    const path = join(folder, "holdfast.db");
    await fill(sqliteCheckpointer({ path }));
    const database = await openDatabase(path);
    const rows = database.prepare("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY 2 DESC").all();
    database.close();
    return (rows as Part[]).map(({ name, bytes }) => ({ name: shortened(name), bytes }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function onPostgres(): Promise<readonly Part[]> {
  const server = await startPostgres();
  try {
    await fill(postgresqlCheckpointer({ dsn: server.url, schema: "bytes" }));
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    // A table includes what is moved out of line and the maps of its free and visible pages, but not its
    // indexes.
    const { rows } = await client.query<{ name: string; bytes: string }>(
      `SELECT c.relname AS name, CASE c.relkind WHEN 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END AS bytes
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'bytes' AND c.relkind IN ('r', 'i') ORDER BY 2 DESC`,
    );
    await client.end();
    return rows.map(({ name, bytes }) => ({ name: shortened(name), bytes: Number(bytes) }));
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}

const shortened = (name: string): string => name.replace("holdfast_", "");

if (process.argv[1] === import.meta.filename) console.log((await benchBytes()).verdicts);
