import { randomBytes } from "node:crypto";
import { Pool } from "pg";
import { type PostgresqlCheckpointerOptions, postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";

/** A schema of a suite's own on a shared server, and a superuser's view of it. */
export interface PostgresPlace {
  readonly url: string;
  readonly schema: string;
  /** Fresh each time: tables of another prefix are another store. */
  readonly prefix: () => string;
  readonly sql: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
  /** A checkpointer in the schema; closed when the place is disposed of. */
  readonly open: (options: PostgresqlCheckpointerOptions) => Checkpointer;
  /** How many rows a table of the schema has. */
  readonly count: (table: string) => Promise<number>;
  /** A role of this suite's own that may connect; its URL. `settings` as after ALTER ROLE: `SET work_mem = '1MB'`. */
  readonly role: (...settings: readonly string[]) => Promise<{ readonly name: string; readonly url: string }>;
  /** Closes what was opened, and removes the schema with everything in it, and the roles. */
  readonly dispose: () => Promise<void>;
}

export function postgresPlace(url: string): PostgresPlace {
  const schema = `suite_${randomBytes(6).toString("hex")}`;
  const pool = new Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
  // A server that is stopped ends idle connections too, which fails no query.
  pool.on("error", () => undefined);
  const roles: string[] = [];
  const opened: Checkpointer[] = [];
  let prefixes = 0;
  const sql = async (text: string, values: unknown[] = []) =>
    (await pool.query<Record<string, unknown>>(text, values)).rows;
  return {
    url,
    schema,
    prefix: () => `p${++prefixes}_`,
    sql,
    open: (options) => {
      const checkpointer = postgresqlCheckpointer({ schema, ...options });
      opened.push(checkpointer);
      return checkpointer;
    },
    count: async (table) => Number((await sql(`SELECT count(*) AS n FROM ${schema}.${table}`))[0]?.["n"]),
    role: async (...settings) => {
      const name = `${schema}_role_${roles.length + 1}`;
      const password = randomBytes(12).toString("hex");
      roles.push(name);
      await sql(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
      for (const setting of settings) await sql(`ALTER ROLE ${name} ${setting}`);
      const own = new URL(url);
      [own.username, own.password] = [name, password];
      return { name, url: own.href };
    },
    dispose: async () => {
      await Promise.all(opened.map((checkpointer) => checkpointer.close()));
      await dropTables(sql, schema);
      await sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      for (const role of roles) await sql(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
      await pool.end();
    },
  };
}

/** A statement locks whatever it drops, and a server has room for some thousands of locks. */
async function dropTables(sql: PostgresPlace["sql"], schema: string): Promise<void> {
  const tables = await sql(
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = $1",
    [schema],
  );
  for (let first = 0; first < tables.length; first += TABLES_AT_ONCE) {
    const names = tables.slice(first, first + TABLES_AT_ONCE).map(({ name }) => name);
    await sql(`DROP TABLE IF EXISTS ${names.join(", ")} CASCADE`);
  }
}

const TABLES_AT_ONCE = 200;
