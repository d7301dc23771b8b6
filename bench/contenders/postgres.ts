import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import { type Contender, THREAD } from "./contender.ts";
import { driven } from "./holdfast.ts";
import { driveSaver } from "./langgraph-run.ts";
import { placeName, serverUrl } from "./server-place.ts";

const CONNECTIONS = 8;

/** The statements that this process has sent: each contender is counted in a process of its own. */
let sent = 0;
const roundTrips = (): number => sent;
const query = pg.Client.prototype.query as (this: pg.Client, ...given: unknown[]) => unknown;
pg.Client.prototype.query = function counted(this: pg.Client, ...given: unknown[]): unknown {
  sent++;
  return query.apply(this, given);
} as typeof pg.Client.prototype.query;

/** As the server is set up: every commit is on the disk when it returns. */
const durability = "fsync";

export const holdfastPostgres: Contender = {
  name: "holdfast postgres",
  durability,
  size: tableBytes,
  open: async (directory) => {
    const schema = placeName(directory);
    const checkpointer = postgresqlCheckpointer({ dsn: serverUrl("postgres"), schema, maxConnections: CONNECTIONS });
    await checkpointer.connect();
    return { ...driven(checkpointer), roundTrips };
  },
};

/** The floor: one INSERT of the message's JSON over the same client. No history, no conflicts. */
export const rawPostgres: Contender = {
  name: "raw INSERT, postgres",
  durability,
  size: tableBytes,
  open: async (directory) => {
    const pool = new pg.Pool({ connectionString: serverUrl("postgres"), max: CONNECTIONS });
    const schema = placeName(directory);
    await pool.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await pool.query(
      `CREATE TABLE IF NOT EXISTS ${schema}.messages (thread_id text, position serial, message bytea, PRIMARY KEY (thread_id, position))`,
    );
    return {
      roundTrips,
      append: async (message) => {
        const values = [THREAD, Buffer.from(JSON.stringify(message))];
        await pool.query(`INSERT INTO ${schema}.messages (thread_id, message) VALUES ($1, $2)`, values);
      },
      load: async () => {
        const query = `SELECT message FROM ${schema}.messages WHERE thread_id = $1 ORDER BY position`;
        const { rows } = await pool.query<{ message: Buffer }>(query, [THREAD]);
        return rows.map(({ message }) => JSON.parse(message.toString()) as unknown).length;
      },
      close: () => pool.end(),
    };
  },
};

export const langgraphPostgres: Contender = {
  name: "LangGraph PostgresSaver",
  durability,
  size: tableBytes,
  open: async (directory) => {
    const pool = new pg.Pool({ connectionString: serverUrl("postgres"), max: CONNECTIONS });
    const saver = new PostgresSaver(pool, undefined, { schema: placeName(directory) });
    await saver.setup();
    return { ...driveSaver(saver, THREAD, () => pool.end()), roundTrips };
  },
};

/** Tables with their indexes and everything that was moved out of line. */
export async function tableBytes(directory: string): Promise<number> {
  const client = new pg.Client({ connectionString: serverUrl("postgres") });
  await client.connect();
  try {
    const { rows } = await client.query<{ bytes: string }>(
      `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`,
      [placeName(directory)],
    );
    return Number(rows[0]?.bytes);
  } finally {
    await client.end();
  }
}
