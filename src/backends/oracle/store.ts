import { connectionFor } from "../../driver/connection.ts";
import { invalid } from "../../driver/options.ts";
import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { Store } from "../../store/store.ts";
import { connectionKinds, connectionOf, OracleConnection, type OracleConnectionOptions } from "./connect.ts";
import { optionsOfUrl } from "./dsn.ts";
import { OracleStoreDriver, type OracleStoreDriverOptions } from "./store-driver.ts";
import { checkedDimension, DEFAULT_STORE_TABLE, storeTables } from "./store-layout.ts";

export interface OracleStoreOptions extends StoreOptions, OracleConnectionOptions {
  /** The result of `oracleConnection()`, instead of a `dsn` or a `pool`. A checkpointer may share it. */
  readonly connection?: OracleConnection;
  /**
   * The table of items, with or without `OWNER.`; the other tables' names begin with
   * it. Created on first use, unless `access` is "read". @default "HOLDFAST_STORE"
   */
  readonly tableName?: string;
  /**
   * The length of the vectors: the table gets a column VECTOR(dimension, FLOAT32),
   * which needs 23ai or later. Without it, items have no vectors.
   */
  readonly dimension?: number;
  /**
   * Creates an index of the vectors: "hnsw", a graph in memory for which the server
   * needs room (VECTOR_MEMORY_SIZE), or "ivf", partitions on disk. Searches of more
   * than 10,000 vectors then use it. @default no index: every vector of the
   * namespace is compared
   */
  readonly vectorIndex?: "hnsw" | "ivf";
}

const TAKER = { factory: "OracleStore", opener: "oracleConnection" };

/** Keeps items in Oracle Database, beside threads or alone: 12.2 or later, vectors from 23ai on. Needs `npm install oracledb`. */
export class OracleStore extends Store {
  constructor(options: OracleStoreOptions) {
    const own = { connection: "object", tableName: "string", vectorIndex: "string" } as const;
    assertStoreOptions(TAKER.factory, options, { ...connectionKinds(options), ...own });
    const checked = oracleStoreOptions(options);
    super(new OracleStoreDriver(checked), { ...options, access: checked.connection.access });
  }
}

/** All options of a driver, with the defaults filled in. */
export function oracleStoreOptions(given: OracleStoreOptions): OracleStoreDriverOptions {
  const { tableName = DEFAULT_STORE_TABLE, vectorIndex } = given;
  const dimension = checkedDimension(TAKER.factory, given.dimension);
  const own = (options: OracleConnectionOptions): OracleConnection => connectionOf(TAKER.factory, options);
  if (vectorIndex !== undefined && vectorIndex !== "hnsw" && vectorIndex !== "ivf") {
    throw invalid('vectorIndex must be "hnsw" or "ivf"');
  }
  if (vectorIndex !== undefined && dimension === undefined) throw invalid("vectorIndex needs the option dimension");
  const connection = connectionFor(TAKER, given, OracleConnection, connectionKinds(given), own);
  return { connection, tables: storeTables(tableName), dimension, vectorIndex };
}

/** As for a checkpointer, in tables of its own: with `tableName=AGENTS` those of AGENTS_STORE. */
export function openStoreUrl(url: string, options: StoreOptions = {}): Store {
  const { tableName, ...where } = optionsOfUrl(url);
  return new OracleStore({ ...options, ...where, ...(tableName !== undefined && { tableName: `${tableName}_STORE` }) });
}
