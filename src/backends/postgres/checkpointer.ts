import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { ranksUpToOf } from "../../checkpoint/find/search-place.ts";
import { connectionFor } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { CONNECTION_OPTIONS, connectionOf, PostgresqlConnection, type PostgresqlConnectionOptions } from "./connect.ts";
import { PostgresLog, type PostgresLogOptions } from "./log.ts";
import { assertNames } from "./names.ts";
import { parsePostgresUrl } from "./url.ts";

export interface PostgresqlCheckpointerOptions extends CheckpointerOptions, PostgresqlConnectionOptions {
  /** The result of `postgresqlConnection()`, instead of a `dsn` or a `pool`. It may be shared. */
  readonly connection?: PostgresqlConnection;
  /** The schema of the tables. Created on first use if it does not exist, unless `access` is "read". @default "public" */
  readonly schema?: string;
  /** The prefix of the table names. @default "holdfast_" */
  readonly tablePrefix?: string;
  /** How many hits a search ranks at most. Of more it returns the newest first. @default 10000 */
  readonly searchRanksUpTo?: number;
}

/** Keeps threads in PostgreSQL 13 or later. Needs `npm install pg`. */
export function postgresqlCheckpointer(options: PostgresqlCheckpointerOptions): Checkpointer {
  assertOptions("postgresqlCheckpointer", options, {
    ...CONNECTION_OPTIONS,
    connection: "object",
    schema: "string",
    tablePrefix: "string",
    searchRanksUpTo: "number",
  });
  const checked = postgresLogOptions(options);
  const { access } = checked.connection.settings;
  return new Checkpointer(new PostgresLog(checked), { ...options, access });
}

const TAKER = { factory: "postgresqlCheckpointer", opener: "postgresqlConnection" };

/** All options of a log, with the defaults filled in. */
export function postgresLogOptions(given: PostgresqlCheckpointerOptions): PostgresLogOptions {
  const { schema = "public", tablePrefix = "holdfast_" } = given;
  const own = (options: PostgresqlConnectionOptions): PostgresqlConnection => connectionOf(TAKER.factory, options);
  const connection = connectionFor(TAKER, given, PostgresqlConnection, CONNECTION_OPTIONS, own);
  assertNames(schema, tablePrefix);
  return { connection, schema, tablePrefix, searchRanksUpTo: ranksUpToOf(given.searchRanksUpTo) };
}

/** `postgres://user:password@host:5432/database`; `?schema=` and `tablePrefix=` are ours, all other parameters are `pg`'s. */
export const openUrl = (url: string, options: CheckpointerOptions = {}): Checkpointer =>
  postgresqlCheckpointer({ ...options, ...parsePostgresUrl(url) });
