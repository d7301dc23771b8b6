import type { DriverFacts } from "../../checkpoint/log/deferred-log.ts";
import type { SqliteConnection } from "./connect.ts";

/** What is known of the driver before it is loaded: a file's promises do not depend on whether it is open. */
export const factsOf = (
  { durability, settings }: Pick<SqliteConnection, "durability" | "settings">,
  ranksUpTo: number,
): DriverFacts => ({
  name: "sqlite",
  // A writer creates the file when needed. A reader checks whether it exists, so that `connect()` can report it.
  offers: [
    ...(settings.access === "read" ? (["connect"] as const) : []),
    ...(["search", "catchUp", "queryMetadata", "declined"] as const),
  ],
  capabilities: {
    durability,
    conditionalAppend: true,
    listThreads: true,
    // A file has no server that could remove anything while no program runs, so expiry cannot be promised. Run `vacuum({
    // olderThanDays })` from a timer instead.
    ttl: false,
    maxRecordBytes: 64 * 1024 * 1024,
    maxChainRecords: Number.POSITIVE_INFINITY,
    ranksUpTo,
  },
});
