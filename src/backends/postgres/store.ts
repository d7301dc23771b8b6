import { connectionFor } from "../../driver/connection.ts";
import { StateError } from "../../errors.ts";
import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { Store } from "../../store/store.ts";
import { CONNECTION_OPTIONS, connectionOf, PostgresqlConnection, type PostgresqlConnectionOptions } from "./connect.ts";
import { assertNames } from "./names.ts";
import { PostgresStoreDriver, type PostgresStoreDriverOptions } from "./store-driver.ts";
import { parsePostgresUrl } from "./url.ts";

export interface PostgresqlStoreOptions extends StoreOptions, PostgresqlConnectionOptions {
  /** The result of `postgresqlConnection()`, instead of a `dsn` or a `pool`. A checkpointer may share it. */
  readonly connection?: PostgresqlConnection;
  /** The schema of the tables. Created on first use if it does not exist. @default "public" */
  readonly schema?: string;
  /** The prefix of the table names. @default "holdfast_" */
  readonly tablePrefix?: string;
  /**
   * Creates pgvector's HNSW index for vectors of the store's `dimension`, at most
   * 2000. Searches of more than 10,000 vectors then use it, and writes of vectors
   * take longer. An existing index is used without this option. @default false
   */
  readonly vectorIndex?: boolean;
}

const TAKER = { factory: "postgresqlStore", opener: "postgresqlConnection" };

/**
 * Keeps items in PostgreSQL 13 or later, beside threads or alone. Uses pgvector
 * where it is installed. Needs `npm install pg`.
 */
export function postgresqlStore(options: PostgresqlStoreOptions): Store {
  const own = { connection: "object", schema: "string", tablePrefix: "string", vectorIndex: "boolean" } as const;
  assertStoreOptions("postgresqlStore", options, { ...CONNECTION_OPTIONS, ...own });
  const checked = postgresStoreOptions(options);
  const { access } = checked.connection.settings;
  return new Store(new PostgresStoreDriver(checked), { ...options, access });
}

/** All options of a driver, with the defaults filled in. */
export function postgresStoreOptions(given: PostgresqlStoreOptions): PostgresStoreDriverOptions {
  const { schema = "public", tablePrefix = "holdfast_", vectorIndex = false, dimension } = given;
  const own = (options: PostgresqlConnectionOptions): PostgresqlConnection => connectionOf(TAKER.factory, options);
  const connection = connectionFor(TAKER, given, PostgresqlConnection, CONNECTION_OPTIONS, own);
  assertNames(schema, tablePrefix);
  if (!vectorIndex || connection.settings.access === "read") return { connection, schema, tablePrefix };
  if (dimension !== undefined && dimension <= 2000)
    return { connection, schema, tablePrefix, indexedDimension: dimension };
  throw new StateError("INVALID_ARGUMENT", "vectorIndex needs the option dimension, of at most 2000");
}

/** As for a checkpointer: `postgres://user:password@host:5432/database?schema=…&tablePrefix=…` */
export const openStoreUrl = (url: string, options: StoreOptions = {}): Store =>
  postgresqlStore({ ...options, ...parsePostgresUrl(url) });
