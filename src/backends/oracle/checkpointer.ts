import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { ranksUpToOf } from "../../checkpoint/find/search-place.ts";
import { connectionFor } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { connectionKinds, connectionOf, OracleConnection, type OracleConnectionOptions } from "./connect.ts";
import { optionsOfUrl } from "./dsn.ts";
import { DEFAULT_TABLE_NAME, tableNames } from "./layout.ts";
import { OracleLog, type OracleLogOptions } from "./log.ts";

export interface OracleCheckpointerOptions extends CheckpointerOptions, OracleConnectionOptions {
  /** The result of `oracleConnection()`, instead of a `dsn` or a `pool`. It may be shared. */
  readonly connection?: OracleConnection;
  /**
   * The table with one row per thread, with or without `OWNER.`; the other tables'
   * names begin with it. Created on first use, unless `access` is "read". @default
   * "HOLDFAST"
   */
  readonly tableName?: string;
  /** How many hits a search ranks at most. Of more it returns the newest first. @default 10000 */
  readonly searchRanksUpTo?: number;
}

/** Keeps threads in Oracle Database 12.2 or later: 19c, 23ai, 26ai. Needs `npm install oracledb`. */
export function oracleCheckpointer(options: OracleCheckpointerOptions): Checkpointer {
  assertOptions("oracleCheckpointer", options, {
    ...connectionKinds(options),
    connection: "object",
    tableName: "string",
    searchRanksUpTo: "number",
  });
  const checked = oracleLogOptions(options);
  return new Checkpointer(new OracleLog(checked), { ...options, access: checked.connection.access });
}

const TAKER = { factory: "oracleCheckpointer", opener: "oracleConnection" };

/** All options of a log, with the defaults filled in. */
export function oracleLogOptions(given: OracleCheckpointerOptions): OracleLogOptions {
  const { tableName = DEFAULT_TABLE_NAME, searchRanksUpTo } = given;
  const own = (options: OracleConnectionOptions): OracleConnection => connectionOf(TAKER.factory, options);
  const connection = connectionFor(TAKER, given, OracleConnection, connectionKinds(given), own);
  return { connection, names: tableNames(tableName), searchRanksUpTo: ranksUpToOf(searchRanksUpTo) };
}

/**
 * `oracle://user:password@host:1521/service`, or
 * `oracle://user:password@alias?wallet=/path`; with `tableName=`, `walletPassword=`
 * and `protocol=tcps` if needed. What the URL lacks is taken from ORACLE_USER,
 * ORACLE_PASSWORD and ORACLE_WALLET_PASSWORD.
 */
export const openUrl = (url: string, options: CheckpointerOptions = {}): Checkpointer =>
  oracleCheckpointer({ ...options, ...optionsOfUrl(url) });
