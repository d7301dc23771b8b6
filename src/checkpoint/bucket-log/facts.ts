import type { Durability } from "../../driver/durability.ts";
import type { DriverFacts } from "../log/deferred-log.ts";

/** What is known of a log in a bucket before its driver is loaded, whichever store has the bucket. */
export const bucketFacts = (name: string, durability: Durability): DriverFacts => ({
  name,
  offers: [],
  capabilities: {
    durability,
    conditionalAppend: true,
    listThreads: true,
    // Lifecycle rules go by the age of objects, not by a time for each thread.
    ttl: false,
    maxRecordBytes: 64 * 1024 * 1024,
    // However long a chain is, it has few pages, and they are read at once.
    maxChainRecords: Number.POSITIVE_INFINITY,
  },
});
