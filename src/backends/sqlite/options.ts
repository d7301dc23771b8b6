import type { DriverFacts } from "../../checkpoint/deferred-log.ts";
import { connectionFor } from "../../driver/connection.ts";
import type { Durability } from "../../driver/durability.ts";
import { StateError } from "../../errors.ts";
import { CONNECTION_OPTIONS, connectionOf, SqliteConnection, type SqliteConnectionOptions } from "./connect.ts";
import type { SqliteLogOptions } from "./log.ts";

/** What is known of the driver before it is loaded: a file promises what it promises, open or not. */
export const factsOf = (durability: Durability): DriverFacts => ({
  name: "sqlite",
  offers: ["search", "catchUp", "queryMetadata", "declined"],
  capabilities: {
    durability,
    conditionalAppend: true,
    listThreads: true,
    // A file has no server that would remove anything while no program runs: a promise of expiry would be
    // one that nobody keeps. `vacuum({ olderThanDays })` from a timer is the honest tool.
    ttl: false,
    maxRecordBytes: 64 * 1024 * 1024,
    maxChainRecords: Number.POSITIVE_INFINITY,
  },
});

const TAKER = { factory: "sqliteCheckpointer", opener: "sqliteConnection" };

interface GivenOptions extends SqliteConnectionOptions {
  readonly connection?: SqliteConnection;
  readonly tablePrefix?: string;
}

/** Everything a log needs, with the defaults filled in. */
export function sqliteLogOptions(given: GivenOptions): SqliteLogOptions {
  const { tablePrefix = "holdfast_" } = given;
  assertTablePrefix(tablePrefix);
  const connection = connectionFor(TAKER, given, SqliteConnection, CONNECTION_OPTIONS, connectionOf);
  return { connection, tablePrefix };
}

export function assertTablePrefix(prefix: string): void {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(prefix)) return;
  throw new StateError("INVALID_ARGUMENT", "tablePrefix must be letters, digits and underscores, at most 63 of them");
}
