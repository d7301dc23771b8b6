import type { Durability } from "../../driver/durability.ts";
import type { DriverFacts } from "../deferred-log.ts";

/** What is known of a log in a bucket before it is loaded, whoever provides the bucket. */
export const bucketFacts = (name: string, durability: Durability): DriverFacts => ({
  name,
  offers: [],
  capabilities: {
    durability,
    conditionalAppend: true,
    listThreads: true,
    // Lifecycle rules know ages of objects, and not a time for each thread.
    ttl: false,
    maxRecordBytes: 64 * 1024 * 1024,
    // However long a chain is, its pages are few and are read at once.
    maxChainRecords: Number.POSITIVE_INFINITY,
  },
});
