import { connectionFor } from "../../driver/connection.ts";
import { invalid } from "../../driver/options.ts";
import { DeferredStoreDriver } from "../../store/deferred-driver.ts";
import { Store } from "../../store/store.ts";
import type { StoreOptions } from "../../store/store-access.ts";
import { assertStoreOptions } from "../../store/store-options.ts";
import { connectionKinds, connectionOf, OracleConnection, type OracleConnectionOptions } from "./connect.ts";
import { optionsOfUrl } from "./dsn.ts";
import type { OracleStoreDriverOptions } from "./store-driver.ts";
import { DEFAULT_STORE_TABLE, STORE_FACTS } from "./store-facts.ts";
import { storeTables } from "./store-layout.ts";

export interface OracleStoreOptions extends StoreOptions, OracleConnectionOptions {
  /** What `oracleConnection()` returned, instead of a `dsn` or a `pool`: a checkpointer may hold it too. */
  readonly connection?: OracleConnection;
  /** The table of items, with or without `OWNER.`; the others begin with its name. Made on first use, unless `access` is "read". @default "HOLDFAST_STORE" */
  readonly tableName?: string;
  /** How many numbers the vectors have: the table gets a column for them, VECTOR(dimension, FLOAT32), which 23ai and later have. Without it, items have no vectors. */
  readonly dimension?: number;
  /**
   * Makes an index of the vectors: "hnsw", a graph in memory that the server must
   * have room for (VECTOR_MEMORY_SIZE), or "ivf", partitions on disk. Searches of
   * more than 10,000 vectors then use it. @default no index: every vector of the namespace is compared
   */
  readonly vectorIndex?: "hnsw" | "ivf";
}

const TAKER = { factory: "OracleStore", opener: "oracleConnection" };

/** Keeps items in Oracle Database, beside threads or alone: 12.2 or later, vectors from 23ai on. `npm install oracledb`. */
export class OracleStore extends Store {
  constructor(options: OracleStoreOptions) {
    const own = { connection: "object", tableName: "string", vectorIndex: "string" } as const;
    assertStoreOptions(TAKER.factory, options, { ...connectionKinds(options), ...own });
    const checked = oracleStoreOptions(options);
    const load = async () => new (await import("./store-driver.ts")).OracleStoreDriver(checked);
    const { connection } = checked;
    super(new DeferredStoreDriver(STORE_FACTS, load, connection.hold()), { ...options, access: connection.access });
  }
}

/** Everything a driver needs, with the defaults filled in. */
export function oracleStoreOptions(given: OracleStoreOptions): OracleStoreDriverOptions {
  const { tableName = DEFAULT_STORE_TABLE, dimension, vectorIndex } = given;
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
