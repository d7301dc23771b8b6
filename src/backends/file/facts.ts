import type { DriverFacts } from "../../checkpoint/deferred-log.ts";

export const FACTS: DriverFacts = {
  name: "file",
  offers: [],
  capabilities: {
    // Windows cannot sync a directory: a new name may be lost with the power there.
    durability: process.platform === "win32" ? "os" : "fsync",
    conditionalAppend: true,
    listThreads: true,
    // Nobody is running when a file should expire. What looks at the clock on its own is `vacuum`.
    ttl: false,
    maxRecordBytes: 64 * 1024 * 1024,
    maxChainRecords: 64,
  },
};
