import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { ranksUpToOf } from "../../checkpoint/find/search-place.ts";
import { connectionFor } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import {
  CONNECTION_OPTIONS,
  connectionOf,
  MysqlConnection,
  type MysqlConnectionOptions,
  parseMysqlUrl,
} from "./connect.ts";
import { tableNames } from "./layout.ts";
import { MysqlLog, type MysqlLogOptions } from "./log.ts";

export interface MysqlCheckpointerOptions extends CheckpointerOptions, MysqlConnectionOptions {
  /** The result of `mysqlConnection()`, instead of a `dsn` or a `pool`. It may be shared. */
  readonly connection?: MysqlConnection;
  /** The prefix of the table names. @default "holdfast_" */
  readonly tablePrefix?: string;
  /** How many hits a search ranks at most. Of more it returns the newest first. @default 10000 */
  readonly searchRanksUpTo?: number;
}

/** Keeps threads in MySQL 8.0.19 or MariaDB 10.6, or later ones. Needs `npm install mysql2`. */
export function mysqlCheckpointer(options: MysqlCheckpointerOptions): Checkpointer {
  const own = { connection: "object", tablePrefix: "string", searchRanksUpTo: "number" } as const;
  assertOptions("mysqlCheckpointer", options, { ...CONNECTION_OPTIONS, ...own });
  const checked = mysqlLogOptions(options);
  return new Checkpointer(new MysqlLog(checked), { ...options, access: checked.connection.access });
}

const TAKER = { factory: "mysqlCheckpointer", opener: "mysqlConnection" };

/** All options of a log, with the defaults filled in. */
export function mysqlLogOptions(given: MysqlCheckpointerOptions): MysqlLogOptions {
  const own = (options: MysqlConnectionOptions): MysqlConnection => connectionOf(TAKER.factory, options);
  const connection = connectionFor(TAKER, given, MysqlConnection, CONNECTION_OPTIONS, own);
  const names = tableNames(given.tablePrefix ?? "holdfast_");
  return { connection, names, searchRanksUpTo: ranksUpToOf(given.searchRanksUpTo) };
}

/** `mysql://user:password@host:3306/database` or `mariadb://…`; with `tablePrefix=`, `ssl-mode=` and `ssl-ca=` if needed. */
export const openUrl = (url: string, options: CheckpointerOptions = {}): Checkpointer =>
  mysqlCheckpointer({ ...options, ...parseMysqlUrl(url) });
