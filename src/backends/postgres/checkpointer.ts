import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { DeferredLog } from "../../checkpoint/deferred-log.ts";
import { connectionFor } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters } from "../../driver/url.ts";
import {
  assertDsn,
  CONNECTION_OPTIONS,
  connectionOf,
  PostgresqlConnection,
  type PostgresqlConnectionOptions,
} from "./connect.ts";
import { FACTS } from "./facts.ts";
import type { PostgresLogOptions } from "./log.ts";
import { assertNames } from "./names.ts";

export interface PostgresqlCheckpointerOptions extends CheckpointerOptions, PostgresqlConnectionOptions {
  /** What `postgresqlConnection()` returned, instead of a `dsn` or a `pool`: others may hold it too. */
  readonly connection?: PostgresqlConnection;
  /** Where the tables are. Made on first use when it is not there. @default "public" */
  readonly schema?: string;
  /** What the names of the tables begin with. @default "holdfast_" */
  readonly tablePrefix?: string;
}

/** Keeps threads in PostgreSQL 13 or later. `npm install pg`. */
export function postgresqlCheckpointer(options: PostgresqlCheckpointerOptions): Checkpointer {
  assertOptions("postgresqlCheckpointer", options, {
    ...CONNECTION_OPTIONS,
    connection: "object",
    schema: "string",
    tablePrefix: "string",
  });
  const checked = postgresLogOptions(options);
  const load = async () => new (await import("./log.ts")).PostgresLog(checked);
  return new Checkpointer(new DeferredLog(FACTS, load, checked.connection.hold()), options);
}

const TAKER = { factory: "postgresqlCheckpointer", opener: "postgresqlConnection" };

/** Everything a log needs, with the defaults filled in. */
export function postgresLogOptions(given: PostgresqlCheckpointerOptions): PostgresLogOptions {
  const { schema = "public", tablePrefix = "holdfast_" } = given;
  const own = (options: PostgresqlConnectionOptions): PostgresqlConnection => connectionOf(TAKER.factory, options);
  const connection = connectionFor(TAKER, given, PostgresqlConnection, CONNECTION_OPTIONS, own);
  assertNames(schema, tablePrefix);
  return { connection, schema, tablePrefix };
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
