import type { DriverFacts } from "../../checkpoint/deferred-log.ts";

export const FACTS: DriverFacts = {
  name: "http",
  // What the storage behind the service offers is known after contact.
  offers: ["connect", "subscribe", "now"],
  /** The least that is sure of a service that was not asked yet. */
  capabilities: {
    durability: "memory",
    conditionalAppend: false,
    listThreads: false,
    ttl: false,
    maxRecordBytes: 64 * 1024,
    maxChainRecords: Number.POSITIVE_INFINITY,
  },
};
