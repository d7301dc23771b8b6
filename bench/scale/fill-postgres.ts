import pg from "pg";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import { tableNames } from "../../src/backends/postgres/layout.ts";
import { COPIED_THREADS, metadataOf, OWN_THREADS, sqlThreadId, statesOf, threadId } from "./sample-threads.ts";

const THREADS_PER_BATCH = 50_000;
const SAMPLED_THREADS = 100;
/** What a copy has of its own. */
const OWN_VALUES: Readonly<Record<string, string>> = {
  '"generation"': "md5(random()::text)",
  '"at"': "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
};
const TABLES = ["threads", "records", "names", "words"] as const;

/**
 * The first threads are saved. Every further one is a copy of one of them, made
 * by the server itself: the rows that `copyThread` leaves and the words that the
 * index finds in them, which is proven on a sample. Saving a million threads would take an hour.
 */
export async function fillPostgres(url: string, schema: string, threads: number): Promise<void> {
  const saved = Math.min(threads, OWN_THREADS + COPIED_THREADS);
  const pool = new pg.Pool({ connectionString: url, max: 8, options: "-c synchronous_commit=off" });
  pool.on("error", () => undefined);
  const checkpointer = postgresqlCheckpointer({ pool, schema, cacheBytes: 0 });
  for (let first = 0; first < saved; first += 50) {
    const some = Array.from({ length: Math.min(50, saved - first) }, (_, at) => first + at);
    await Promise.all(
      some.map(async (index) => {
        const metadata = metadataOf(index);
        for (const state of statesOf(index)) await checkpointer.save(state, threadId(index), { metadata });
      }),
    );
  }
  await checkpointer.search("catch up with all");
  const server = await pool.connect();
  try {
    if (threads > saved) {
      await multiply(server, schema, saved, threads);
      await assertSampleIsEqual(server, schema, checkpointer, threads);
    }
    for (const table of TABLES) await server.query(`VACUUM (ANALYZE) ${tableNames(schema, "holdfast_")[table]}`);
    await server.query("CHECKPOINT");
  } finally {
    server.release();
    await checkpointer.close();
    await pool.end();
  }
}

async function multiply(server: pg.PoolClient, schema: string, saved: number, threads: number): Promise<void> {
  const names = tableNames(schema, "holdfast_");
  // The rows are valid already: checking each one's thread again would take most of the time.
  await server.query("SET session_replication_role = replica");
  for (let first = saved; first < threads; first += THREADS_PER_BATCH) {
    const end = Math.min(threads, first + THREADS_PER_BATCH);
    for (const table of TABLES) {
      const columns = await columnsOf(server, names[table]);
      const values = columns.map((column) => OWN_VALUES[column] ?? `r.${column}`);
      await server.query(
        `INSERT INTO ${names[table]} (thread_id, ${columns.join(", ")})
           SELECT ${sqlThreadId("n")}, ${values.join(", ")} FROM generate_series($1::int, $2::int) n
           JOIN ${names[table]} r ON r.thread_id = ${sqlThreadId(`(${OWN_THREADS} + (n - ${OWN_THREADS}) % ${COPIED_THREADS})`)}`,
        [first, end - 1],
      );
    }
    console.log(`  ${schema}: ${end} of ${threads} threads`);
  }
  await server.query("RESET session_replication_role");
}

/** All but the thread's id, and but what the server computes itself. */
async function columnsOf(server: pg.PoolClient, table: string): Promise<readonly string[]> {
  const { rows } = await server.query<{ column: string }>(
    `SELECT quote_ident(attname) AS column, quote_ident(attname) = attname AS plain FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'thread_id' AND attgenerated = ''
       ORDER BY attnum`,
    [table],
  );
  return rows.map(({ column }) => (column.startsWith('"') ? column : `"${column}"`));
}

/** The same copies by the driver itself, with the words of its own catch-up: every row must be the same but for its ids. */
async function assertSampleIsEqual(
  server: pg.PoolClient,
  schema: string,
  checkpointer: ReturnType<typeof postgresqlCheckpointer>,
  threads: number,
): Promise<void> {
  const sample = Array.from({ length: SAMPLED_THREADS }, (_, at) => threads - 1 - at);
  for (const index of sample) {
    const original = OWN_THREADS + ((index - OWN_THREADS) % COPIED_THREADS);
    await checkpointer.copyThread(threadId(original), `${threadId(index)}-by-copy`);
  }
  await checkpointer.search("catch up with all");
  const names = tableNames(schema, "holdfast_");
  const ids = sample.map(threadId);
  for (const table of TABLES) {
    const columns = (await columnsOf(server, names[table])).filter((column) => !(column in OWN_VALUES)).join(", ");
    const rows = (suffix: string): string =>
      `SELECT replace(thread_id, '${suffix}', '') AS id, ${columns} FROM ${names[table]} WHERE thread_id = ANY (ARRAY(SELECT i || '${suffix}' FROM unnest($1::text[]) i))`;
    const { rows: found } = await server.query<{ rows: string; other: string }>(
      `WITH a AS (${rows("")}), b AS (${rows("-by-copy")})
       SELECT (SELECT count(*) FROM a) AS rows, (SELECT count(*) FROM
         ((SELECT * FROM a EXCEPT ALL SELECT * FROM b) UNION ALL (SELECT * FROM b EXCEPT ALL SELECT * FROM a)) d) AS other`,
      [ids],
    );
    if (found[0]?.other !== "0") throw new Error(`the bulk fill of ${table} leaves other rows than the driver does`);
    console.log(`  ${schema}.${table}: the ${found[0].rows} rows of ${ids.length} threads are those of the driver`);
  }
  for (const id of ids) await checkpointer.delete(`${id}-by-copy`);
}
