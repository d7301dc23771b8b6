import type { DriverFacts } from "../../checkpoint/deferred-log.ts";
import type { Durability } from "../../driver/durability.ts";

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
