import { connectionFor } from "../../driver/connection.ts";
import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { Store } from "../../store/store.ts";
import {
  CONNECTION_OPTIONS,
  connectionOf,
  MysqlConnection,
  type MysqlConnectionOptions,
  parseMysqlUrl,
} from "./connect.ts";
import { tableNames } from "./layout.ts";
import { MysqlStoreDriver } from "./store-driver.ts";

export interface MysqlStoreOptions extends StoreOptions, MysqlConnectionOptions {
  /** The result of `mysqlConnection()`, instead of a `dsn` or a `pool`. A checkpointer may share it. */
  readonly connection?: MysqlConnection;
  /** The prefix of the table names. @default "holdfast_" */
  readonly tablePrefix?: string;
}

const TAKER = { factory: "mysqlStore", opener: "mysqlConnection" };

/** Keeps items in MySQL 8.0.19 or MariaDB 10.6, or later ones, beside threads or alone. Needs `npm install mysql2`. */
export function mysqlStore(options: MysqlStoreOptions): Store {
  const own = { connection: "object", tablePrefix: "string" } as const;
  assertStoreOptions(TAKER.factory, options, { ...CONNECTION_OPTIONS, ...own });
  const made = (given: MysqlConnectionOptions): MysqlConnection => connectionOf(TAKER.factory, given);
  const connection = connectionFor(TAKER, options, MysqlConnection, CONNECTION_OPTIONS, made);
  const driver = new MysqlStoreDriver(connection, tableNames(options.tablePrefix ?? "holdfast_"));
  return new Store(driver, { ...options, access: connection.access });
}

/** As for a checkpointer: `mysql://user:password@host:3306/database?tablePrefix=…` */
export const openStoreUrl = (url: string, options: StoreOptions = {}): Store =>
  mysqlStore({ ...options, ...parseMysqlUrl(url) });
