import type { DriverFacts } from "../../checkpoint/deferred-log.ts";
import type { Durability } from "../../driver/durability.ts";
import { StateError } from "../../errors.ts";
import type { SqliteDatabase } from "./connect.ts";
import type { SqliteLogOptions } from "./log.ts";

/** What is known of the driver before it is loaded: a file promises what it promises, open or not. */
export const factsOf = ({ durability }: Pick<SqliteLogOptions, "durability">): DriverFacts => ({
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

/** Everything a log needs, with the defaults filled in. */
export function sqliteLogOptions(given: Partial<SqliteLogOptions>): SqliteLogOptions {
  const { path = "holdfast.db", database, tablePrefix = "holdfast_", busyTimeoutMs = 10_000 } = given;
  const { secureDelete = true } = given;
  assertTablePrefix(tablePrefix);
  const durability = database === undefined ? durabilityOf(path) : durabilityOfConnection(database);
  return { path, ...(database !== undefined && { database }), tablePrefix, busyTimeoutMs, secureDelete, durability };
}

export function assertTablePrefix(prefix: string): void {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(prefix)) return;
  throw new StateError("INVALID_ARGUMENT", "tablePrefix must be letters, digits and underscores, at most 63 of them");
}

const durabilityOf = (path: string): Durability => (isInMemory(path) ? "memory" : "fsync");

/** SQLite keeps these in this process: one in memory, one in a temporary file. */
export const isInMemory = (path: string): boolean => path === ":memory:" || path === "";

/** What a handed-in connection's own settings give: FULL (2) and EXTRA (3) sync each commit. */
function durabilityOfConnection(database: SqliteDatabase): Durability {
  const { file } = database.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as {
    file: string | null;
  };
  if (file === "" || file === null) return "memory";
  const { synchronous } = database.prepare("PRAGMA synchronous").get() as { synchronous: number };
  return synchronous >= 2 ? "fsync" : "os";
}
