import type { DriverFacts } from "../../checkpoint/log/deferred-log.ts";

export const FACTS: DriverFacts = {
  name: "redis",
  offers: ["connect", "now", "declined"],
  capabilities: {
    durability: "memory",
    conditionalAppend: true,
    listThreads: true,
    ttl: true,
    // A string may have 512 MB, but the server is blocked while it receives one.
    maxRecordBytes: 64 * 1024 * 1024,
    maxChainRecords: Number.POSITIVE_INFINITY,
  },
};
