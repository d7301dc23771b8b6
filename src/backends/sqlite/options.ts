import { ranksUpToOf } from "../../checkpoint/find/search-place.ts";
import { connectionFor } from "../../driver/connection.ts";
import { StateError } from "../../errors.ts";
import { CONNECTION_OPTIONS, connectionOf, SqliteConnection, type SqliteConnectionOptions } from "./connect.ts";
import type { SqliteLogOptions } from "./log.ts";

const TAKER = { factory: "sqliteCheckpointer", opener: "sqliteConnection" };

interface GivenOptions extends SqliteConnectionOptions {
  readonly connection?: SqliteConnection;
  readonly tablePrefix?: string;
  readonly searchRanksUpTo?: number;
}

/** All options of a log, with the defaults filled in. */
export function sqliteLogOptions(given: GivenOptions): SqliteLogOptions {
  const { tablePrefix = "holdfast_" } = given;
  assertTablePrefix(tablePrefix);
  const connection = connectionFor(TAKER, given, SqliteConnection, CONNECTION_OPTIONS, connectionOf);
  return { connection, tablePrefix, searchRanksUpTo: ranksUpToOf(given.searchRanksUpTo) };
}

export function assertTablePrefix(prefix: string): void {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(prefix)) return;
  throw new StateError("INVALID_ARGUMENT", "tablePrefix must be letters, digits and underscores, at most 63 of them");
}
