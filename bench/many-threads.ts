import { Redis } from "ioredis";
import pg from "pg";
import { openCheckpointer } from "../src/backends/open.ts";
import { tableNames } from "../src/backends/postgres/layout.ts";
import { COMPLETE, keyNames } from "../src/backends/redis/layout.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import { median, timed } from "./statistics.ts";

export const THREADS = 100_000;
const PAGE = 50;
const PAGES = 40;
const FIRST = "many 0";

/** How long a page of thread ids takes where there are very many threads; the median over pages from all over the list. */
export async function pageAmongMany(kind: "postgres" | "redis", serverUrl: string): Promise<number> {
  const url = new URL(serverUrl);
  if (kind === "postgres") url.searchParams.set("schema", "bench_many");
  else url.searchParams.set("prefix", "bench_many:");
  await using checkpointer = await openCheckpointer(url.href);
  await checkpointer.save(AgentState.create().withMessage(userMessage("one of many")), FIRST);
  await MULTIPLY[kind](serverUrl);
  const pages: number[] = [];
  let cursor: string | undefined;
  let met = 0;
  do {
    // Whole thousands in between, so that the pages that are timed come from the whole list.
    const skipped = await checkpointer.listThreads({ limit: THREADS / PAGES - PAGE, ...(cursor && { cursor }) });
    cursor = skipped.cursor;
    met += skipped.length;
    if (cursor === undefined) break;
    const from = cursor;
    pages.push(
      await timed(async () => {
        const page = await checkpointer.listThreads({ limit: PAGE, cursor: from });
        cursor = page.cursor;
        met += page.length;
      }),
    );
  } while (cursor !== undefined);
  if (met !== THREADS) throw new Error(`${kind}: met ${met} of ${THREADS} threads`);
  return median(pages);
}

/** The first thread again and again under other ids, made by the server itself: saving each would take minutes. */
const MULTIPLY = {
  postgres: async (serverUrl: string): Promise<void> => {
    const { threads, records } = tableNames("bench_many", "holdfast_");
    const client = new pg.Client({ connectionString: serverUrl });
    await client.connect();
    for (const table of [threads, records]) {
      const { rows } = await client.query<{ columns: string }>(
        `SELECT string_agg(quote_ident(attname), ', ') AS columns FROM pg_attribute
           WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'thread_id' AND attgenerated = ''`,
        [table],
      );
      const columns = rows[0]?.columns;
      await client.query(
        `INSERT INTO ${table} (thread_id, ${columns}) SELECT 'many ' || number, ${columns}
           FROM ${table}, generate_series(1, ${THREADS - 1}) AS number WHERE thread_id = $1`,
        [FIRST],
      );
    }
    await client.query(`ANALYZE ${threads}, ${records}`);
    await client.end();
  },
  redis: async (serverUrl: string): Promise<void> => {
    const keys = keyNames("bench_many:");
    const client = new Redis(serverUrl);
    await client.config("SET", "appendfsync", "no");
    // All ids share the mark of an index that has every thread: what the bench made before gave the first another one.
    await client.zadd(keys.ids, COMPLETE, FIRST);
    for (let from = 1; from < THREADS; from += 1000) {
      const batch = client.pipeline();
      for (let number = from; number < Math.min(from + 1000, THREADS); number++) {
        batch.copy(keys.thread(FIRST), keys.thread(`many ${number}`));
        batch.zadd(keys.ids, COMPLETE, `many ${number}`);
      }
      await batch.exec();
    }
    client.disconnect();
  },
} as const;
