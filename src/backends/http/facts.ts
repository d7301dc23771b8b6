import type { DriverFacts } from "../../checkpoint/log/deferred-log.ts";

export const FACTS: DriverFacts = {
  name: "http",
  // What the service's storage offers is known after contact.
  offers: ["connect", "subscribe", "now"],
  /** The least that any service has, before it was asked. */
  capabilities: {
    durability: "memory",
    conditionalAppend: false,
    listThreads: false,
    ttl: false,
    maxRecordBytes: 64 * 1024,
    maxChainRecords: Number.POSITIVE_INFINITY,
  },
};
