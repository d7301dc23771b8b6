import { connectionFor } from "../../driver/connection.ts";
import { assertParameters, parseLocalUrl } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { Store } from "../../store/store.ts";
import { CONNECTION_OPTIONS, connectionOf, SqliteConnection, type SqliteConnectionOptions } from "./connect.ts";
import { assertTablePrefix } from "./options.ts";
import { SqliteStoreDriver } from "./store-driver.ts";

export interface SqliteStoreOptions extends StoreOptions, SqliteConnectionOptions {
  /** The result of `sqliteConnection()`, instead of a `path` or a `database`. A checkpointer may share it. */
  readonly connection?: SqliteConnection;
  /** The prefix of the table names. @default "holdfast_" */
  readonly tablePrefix?: string;
  /** The clock for timestamps and expiry. @default Date.now */
  readonly now?: () => number;
}

const TAKER = { factory: "sqliteStore", opener: "sqliteConnection" };

/** Keeps items in one SQLite file, beside threads or alone. Nothing to install on Node 22 and later. */
export function openedSqliteStore(options: SqliteStoreOptions = {}): Store {
  const own = { connection: "object", tablePrefix: "string", now: "function" } as const;
  assertStoreOptions("sqliteStore", options, { ...CONNECTION_OPTIONS, ...own });
  const { tablePrefix = "holdfast_", now = Date.now } = options;
  assertTablePrefix(tablePrefix);
  const connection = connectionFor(TAKER, options, SqliteConnection, CONNECTION_OPTIONS, connectionOf);
  const { access } = connection.settings;
  return new Store(new SqliteStoreDriver({ connection, tablePrefix, now }), { ...options, access });
}

/** `sqlite:./agents.db`, `sqlite:///var/lib/agents.db`, `sqlite::memory:`; `?tablePrefix=` may follow. */
export function openStoreUrl(url: string, options: StoreOptions = {}): Store {
  const { path, parameters } = parseLocalUrl(url);
  assertParameters(url, parameters, ["tablePrefix"]);
  if (path === "") throw new StateError("INVALID_ARGUMENT", "a sqlite URL needs a file: sqlite:./agents.db");
  return openedSqliteStore({ ...options, ...parameters, path });
}
