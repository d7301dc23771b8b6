import pg from "pg";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";

/** The statements that a piece of work sends, each with the server's plan for it. */
export async function plansOf(
  url: string,
  schema: string,
  work: (checkpointer: Checkpointer) => Promise<unknown>,
): Promise<readonly string[]> {
  const sent: { readonly text: string; readonly values: unknown[] }[] = [];
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on("error", () => undefined);
  const watched = {
    connect: async () => {
      const client = await pool.connect();
      return {
        query: (query: { text: string; values?: unknown[] }) => {
          sent.push({ text: query.text, values: query.values ?? [] });
          return client.query(query);
        },
        on: client.on.bind(client),
        removeListener: client.removeListener.bind(client),
        release: client.release.bind(client),
      };
    },
    on: pool.on.bind(pool),
    removeListener: pool.removeListener.bind(pool),
    end: () => pool.end(),
  };
  const checkpointer = postgresqlCheckpointer({ pool: watched as never, schema, connectTimeoutMs: 60_000 });
  // What was saved since is indexed before, and not as a part of the work.
  await checkpointer.search("catch up with all");
  sent.length = 0;
  await work(checkpointer);
  await checkpointer.close();
  const plans: string[] = [];
  for (const { text, values } of sent) {
    const { rows } = await pool.query<Record<string, string>>(`EXPLAIN (ANALYZE, BUFFERS) ${text}`, values);
    plans.push(`${text}\n${rows.map((row) => row["QUERY PLAN"]).join("\n")}`);
  }
  await pool.end();
  return plans;
}
