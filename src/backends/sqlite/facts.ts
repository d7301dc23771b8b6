import type { DriverFacts } from "../../checkpoint/deferred-log.ts";
import type { SqliteConnection } from "./connect.ts";

/** What is known of the driver before it is loaded: a file promises what it promises, open or not. */
export const factsOf = ({ durability, settings }: Pick<SqliteConnection, "durability" | "settings">): DriverFacts => ({
  name: "sqlite",
  // A writer makes the file when it needs it. A reader asks whether it is there, so that `connect()` tells.
  offers: [
    ...(settings.access === "read" ? (["connect"] as const) : []),
    ...(["search", "catchUp", "queryMetadata", "declined"] as const),
  ],
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
