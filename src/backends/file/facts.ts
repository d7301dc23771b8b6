import type { DriverFacts } from "../../checkpoint/log/deferred-log.ts";
import type { Access } from "../../driver/access.ts";

export const FACTS: DriverFacts = {
  name: "file",
  offers: [],
  capabilities: {
    // Windows cannot sync a directory: a new name may be lost in a power failure.
    durability: process.platform === "win32" ? "os" : "fsync",
    conditionalAppend: true,
    listThreads: true,
    // No process runs when a file should expire. `vacuum` is what checks the clock.
    ttl: false,
    maxRecordBytes: 64 * 1024 * 1024,
    maxChainRecords: 64,
  },
};

/** A writer creates the directory when needed. A reader checks whether it exists, so that `connect()` can report it. */
export const factsFor = (access: Access): DriverFacts =>
  access === "read" ? { ...FACTS, offers: ["connect"] } : FACTS;
