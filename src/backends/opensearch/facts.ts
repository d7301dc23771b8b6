import type { DriverFacts } from "../../checkpoint/log/deferred-log.ts";

export const FACTS: DriverFacts = {
  name: "opensearch",
  offers: ["connect", "search", "queryMetadata"],
  capabilities: {
    // Whatever its settings, the server outlives this process. The first contact may tell more.
    durability: "os",
    conditionalAppend: true,
    listThreads: true,
    // Nothing removes a thread when it expires.
    ttl: false,
    // One request holds two records, and as text they may be twice as long; a server accepts 100 MB.
    maxRecordBytes: 16 * 1024 * 1024,
    maxChainRecords: 128,
  },
};
