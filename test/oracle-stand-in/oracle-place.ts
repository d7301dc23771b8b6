import { randomBytes } from "node:crypto";
import { Pool } from "pg";
import "./install.ts";
import { PRELUDE } from "./prelude.ts";

/** A user with a schema of its own on the stand-in, which is gone when the suite is. */
export interface OraclePlace {
  readonly dsn: string;
  readonly user: string;
  readonly password: string;
  /** Fresh each time: tables of another name are another store. */
  readonly tableName: () => string;
  /** A superuser's view of it, in PostgreSQL's words. */
  readonly sql: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
  /** Another user, who may create nothing. */
  readonly addUser: (password?: string) => Promise<{ readonly user: string; readonly password: string }>;
  readonly dispose: () => Promise<void>;
}

export async function oraclePlace(
  postgresUrl: string,
  password: string = randomBytes(12).toString("hex"),
): Promise<OraclePlace> {
  const pool = new Pool({ connectionString: postgresUrl, max: 2, allowExitOnIdle: true });
  // A server that is stopped ends idle connections too, which fails no query.
  pool.on("error", () => undefined);
  const sql = async (text: string, values: unknown[] = []) =>
    (await pool.query<Record<string, unknown>>(text, values)).rows;
  await preparePrelude(pool);
  const user = `app_${randomBytes(6).toString("hex")}`;
  const users: string[] = [];
  const addUser = async (name: string, secret: string): Promise<void> => {
    users.push(name);
    await sql(`CREATE ROLE ${name} LOGIN PASSWORD '${secret.replaceAll("'", "''")}'`);
  };
  await addUser(user, password);
  await sql(`CREATE SCHEMA ${user} AUTHORIZATION ${user}`);
  let tables = 0;
  return {
    dsn: dsnOf(postgresUrl),
    user,
    password,
    tableName: () => `T${++tables}`,
    sql,
    addUser: async (secret = randomBytes(12).toString("hex")) => {
      const name = `${user}_${users.length}`;
      await addUser(name, secret);
      await sql(`GRANT USAGE ON SCHEMA ${user} TO ${name}`);
      return { user: name, password: secret };
    },
    dispose: async () => {
      await sql(`DROP SCHEMA ${user} CASCADE`);
      for (const name of users.reverse()) await sql(`DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`);
      await pool.end();
    },
  };
}

/** `host:port/standin_database`, as the driver takes it. */
export function dsnOf(postgresUrl: string): string {
  const { host, pathname } = new URL(postgresUrl);
  return `${host}/standin_${pathname.slice(1)}`;
}

/** Once in a database, however many suites begin at once. */
async function preparePrelude(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('oracle stand-in', 0))");
    const { rows } = await client.query("SELECT to_regnamespace('oracle_sys')::text AS there");
    if ((rows[0] as { there: string | null }).there === null)
      for (const statement of PRELUDE) await client.query(statement);
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}
