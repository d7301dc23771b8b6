import type { DriverFacts } from "../../checkpoint/deferred-log.ts";

export const FACTS: DriverFacts = {
  name: "opensearch",
  offers: ["connect", "search", "queryMetadata"],
  capabilities: {
    // Whatever its settings, the server outlives this process. More is known once it was asked.
    durability: "os",
    conditionalAppend: true,
    listThreads: true,
    // Nothing here removes a thread when its time has come.
    ttl: false,
    // One request holds two records, and as text they may be twice as long; a server takes 100 MB.
    maxRecordBytes: 16 * 1024 * 1024,
    maxChainRecords: 128,
  },
};
