import type { DriverFacts } from "../../checkpoint/log/deferred-log.ts";

export const FACTS: DriverFacts = {
  name: "memory",
  offers: ["subscribe"],
  capabilities: {
    durability: "memory",
    conditionalAppend: true,
    listThreads: true,
    ttl: true,
    maxRecordBytes: 64 * 1024 * 1024,
    maxChainRecords: Number.POSITIVE_INFINITY,
  },
};
