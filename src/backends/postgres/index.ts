import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { assertDsn, type PostgresPool } from "./connect.ts";
import { tableNames } from "./layout.ts";
import { PostgresLog, type PostgresLogOptions } from "./log.ts";
import { ddl } from "./parts.ts";

export type { PostgresClient, PostgresPool, PostgresQuery } from "./connect.ts";
export { PostgresLog, type PostgresLogOptions } from "./log.ts";

export interface PostgresqlCheckpointerOptions extends CheckpointerOptions {
  /** `postgres://user:password@host:5432/database`, with whatever else `pg` understands in it. */
  readonly dsn?: string;
  /** A `pg` pool of your own instead. It stays yours: its settings are left as they are, and `close()` leaves it open. */
  readonly pool?: PostgresPool;
  /** Where the tables are. Made on first use when it is not there. @default "public" */
  readonly schema?: string;
  /** What the names of the tables begin with. @default "holdfast_" */
  readonly tablePrefix?: string;
  /** How many connections a `dsn` may hold at once. @default 10 */
  readonly maxConnections?: number;
  /** How long to wait for a connection of a `dsn`. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for the answer to one statement. @default 30000 */
  readonly statementTimeoutMs?: number;
}

/** Keeps threads in PostgreSQL 13 or later. `npm install pg`. */
export function postgresqlCheckpointer(options: PostgresqlCheckpointerOptions): Checkpointer {
  assertOptions("postgresqlCheckpointer", options, {
    dsn: "string",
    pool: "object",
    schema: "string",
    tablePrefix: "string",
    maxConnections: "number",
    connectTimeoutMs: "number",
    statementTimeoutMs: "number",
  });
  return new Checkpointer(new PostgresLog(postgresLogOptions(options)), options);
}

/** Everything a log needs, with the defaults filled in. */
export function postgresLogOptions(given: PostgresqlCheckpointerOptions): PostgresLogOptions {
  const { schema = "public", tablePrefix = "holdfast_", maxConnections = 10 } = given;
  const { connectTimeoutMs = 10_000, statementTimeoutMs = 30_000 } = given;
  for (const [name, value] of Object.entries({ maxConnections, connectTimeoutMs, statementTimeoutMs })) {
    if (Number.isInteger(value) && value > 0) continue;
    throw new StateError("INVALID_ARGUMENT", `${name} must be a whole number greater than 0`);
  }
  return { source: sourceOf(given), schema, tablePrefix, maxConnections, connectTimeoutMs, statementTimeoutMs };
}

function sourceOf({ dsn, pool }: PostgresqlCheckpointerOptions): PostgresLogOptions["source"] {
  if ((dsn === undefined) === (pool === undefined)) {
    throw new StateError("INVALID_ARGUMENT", "postgresqlCheckpointer() takes either a dsn or a pool");
  }
  if (pool !== undefined) return { pool };
  assertDsn(dsn ?? "");
  return { dsn: dsn ?? "" };
}

const OWN_PARAMETERS = ["schema", "tablePrefix"];
/** Those that `pg` understands. */
const CLIENT_PARAMETERS = [
  ...["user", "password", "host", "port", "application_name", "client_encoding", "options", "connect_timeout"],
  ...["sslmode", "sslcert", "sslkey", "sslrootcert", "sslnegotiation", "uselibpqcompat", "ssl"],
];

/** `postgres://user:password@host:5432/database`; `?schema=` and `tablePrefix=` are ours, the rest is the client's. */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  assertDsn(url);
  const [place = "", query = ""] = url.split("?");
  const parameters = new URLSearchParams(query);
  assertParameters(url, Object.fromEntries(parameters), [...OWN_PARAMETERS, ...CLIENT_PARAMETERS]);
  const [schema, tablePrefix] = OWN_PARAMETERS.map((name) => parameters.get(name));
  for (const name of OWN_PARAMETERS) parameters.delete(name);
  return postgresqlCheckpointer({
    ...options,
    dsn: parameters.size === 0 ? place : `${place}?${parameters}`,
    ...(schema != null && { schema }),
    ...(tablePrefix != null && { tablePrefix }),
  });
}

export interface PostgresqlDdlOptions {
  readonly schema?: string;
  readonly tablePrefix?: string;
  /** The role that the application connects as: it is granted what it needs, and no more. */
  readonly role?: string;
  /** In how many parts the tables are, by the hash of the thread id. @default none */
  readonly partitions?: number;
  /** The versions of the tables that are there, as the table `<prefix>schema` has them. @default there are no tables */
  readonly from?: Readonly<Record<string, number>>;
}

/** The statements that create the tables, or upgrade those that are there: exactly what is executed on first use. */
export function postgresqlDdl(options: PostgresqlDdlOptions = {}): readonly string[] {
  const { schema = "public", tablePrefix = "holdfast_", role, partitions = 0, from } = options;
  if (!Number.isInteger(partitions) || partitions < 0 || partitions > 1024) {
    throw new StateError("INVALID_ARGUMENT", "partitions must be a whole number up to 1024");
  }
  return ddl(tableNames(schema, tablePrefix), { role, partitions, from });
}
