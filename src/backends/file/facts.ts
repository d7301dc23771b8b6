import type { DriverFacts } from "../../checkpoint/deferred-log.ts";
import type { Access } from "../../driver/access.ts";

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

/** A writer makes the directory when it needs it. A reader asks whether it is there, so that `connect()` tells. */
export const factsFor = (access: Access): DriverFacts =>
  access === "read" ? { ...FACTS, offers: ["connect"] } : FACTS;
