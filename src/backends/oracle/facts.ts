import type { DriverFacts } from "../../checkpoint/log/deferred-log.ts";

export const DEFAULT_TABLE_NAME = "HOLDFAST";

export const FACTS: DriverFacts = {
  name: "oracle",
  offers: ["connect", "queryMetadata", "now", "declined"],
  capabilities: {
    // A commit waits for the redo log. A standby cannot be seen from a session.
    durability: "fsync",
    conditionalAppend: true,
    listThreads: true,
    ttl: true,
    maxRecordBytes: 64 * 1024 * 1024,
    maxChainRecords: Number.POSITIVE_INFINITY,
  },
};
