/**
 * PostgreSQL: several machines, one truth. A worker saves, another one is told,
 * and SQL of your own sees the same threads.
 *
 *   npm run services                       # in another terminal; or any server of yours
 *   export HOLDFAST_POSTGRES_URL=postgres://user:password@127.0.0.1:5432/postgres
 *   npx tsx examples/09-postgres.ts
 */
import { AgentState, StateError, textOf, userMessage } from "holdfast";
import { postgresqlCheckpointer } from "holdfast/postgres";
import { Pool } from "pg";

const dsn = process.env["HOLDFAST_POSTGRES_URL"];
const schema = "holdfast_example";

async function main(dsn: string): Promise<void> {
  // Two checkpointers are two machines: they share nothing but the database.
  await using worker = postgresqlCheckpointer({ dsn, schema });
  await using dashboard = postgresqlCheckpointer({ dsn, schema });

  const { durability } = await worker.connect();
  console.log(`durability, from the server's own settings: ${durability}`);
  // A watch reports what is saved after its first look, so it is connected before the first save.
  await dashboard.connect();

  const stop = new AbortController();
  const watching = (async () => {
    for await (const { messageCount } of dashboard.watch("incident-7", { signal: stop.signal })) {
      console.log(`the other machine sees it: ${messageCount} messages`);
      if (messageCount === 2) stop.abort();
    }
  })();

  const metadata = { tenant: "acme", severity: 2 };
  let state = AgentState.create().withMessage(userMessage("p99 on checkout-api spiked at 14:02."));
  await worker.save(state, "incident-7", { metadata });
  const seenElsewhere = await dashboard.load("incident-7");
  state = state.withMessage(userMessage("It was the 13:58 deploy."));
  await worker.save(state, "incident-7", { metadata, ttlSeconds: 30 * 24 * 3600 });
  await watching;

  try {
    await dashboard.save((seenElsewhere ?? state).withMessage(userMessage("Was it the database?")), "incident-7");
  } catch (error) {
    if (StateError.is(error, "CONFLICT")) console.log("the other machine saw an older state, and is refused: CONFLICT");
    else throw error;
  }

  const [found] = await dashboard.search("checkout");
  console.log(`search by index: ${found?.threadId}`);
  const acme = await dashboard.queryByMetadata("tenant", "acme");
  console.log(`threads of acme: ${acme.map(({ threadId }) => threadId).join(", ")}`);
  console.log(
    `the newest message: ${textOf((await dashboard.load("incident-7"))?.messages.at(-1) ?? userMessage(""))}`,
  );
}

async function withSql(dsn: string): Promise<void> {
  const pool = new Pool({ connectionString: dsn });
  const { rows } = await pool.query<{ severity: string; days: string }>(
    `SELECT metadata ->> 'severity' AS severity, round(extract(epoch FROM expires_at - now()) / 86400) AS days
       FROM ${schema}.holdfast_threads WHERE metadata @> '{"tenant": "acme"}'`,
  );
  console.log(`and in SQL: severity ${rows[0]?.severity}, expires in ${rows[0]?.days} days`);
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
}

if (dsn === undefined)
  console.log("HOLDFAST_POSTGRES_URL is not set: `npm run services` starts a server and prints its URL");
else {
  await main(dsn);
  await withSql(dsn);
}
