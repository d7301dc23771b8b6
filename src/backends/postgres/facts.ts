import type { DriverFacts } from "../../checkpoint/deferred-log.ts";

export const FACTS: DriverFacts = {
  name: "postgres",
  offers: ["connect", "search", "catchUp", "queryMetadata", "subscribe", "now", "declined"],
  capabilities: {
    // Whatever its settings, the server outlives this process. More is known once it was asked.
    durability: "os",
    conditionalAppend: true,
    listThreads: true,
    ttl: true,
    maxRecordBytes: 64 * 1024 * 1024,
    maxChainRecords: Number.POSITIVE_INFINITY,
  },
};
