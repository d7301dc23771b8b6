import type { DriverFacts } from "../../checkpoint/log/deferred-log.ts";
import type { Access } from "../../driver/access.ts";

export const FACTS: DriverFacts = {
  name: "postgres",
  offers: ["connect", "search", "catchUp", "queryMetadata", "subscribe", "now", "declined"],
  capabilities: {
    // Whatever its settings, the server outlives this process. The first contact may tell more.
    durability: "os",
    conditionalAppend: true,
    listThreads: true,
    ttl: true,
    maxRecordBytes: 64 * 1024 * 1024,
    maxChainRecords: Number.POSITIVE_INFINITY,
    callsTogether: 128,
  },
};

/** A watcher registers in a table, so that saves notify. With read access it cannot register, so `watch` polls. */
export const factsFor = (access: Access, ranksUpTo: number): DriverFacts => ({
  ...FACTS,
  capabilities: { ...FACTS.capabilities, ranksUpTo },
  offers: access === "read" ? FACTS.offers.filter((name) => name !== "subscribe") : FACTS.offers,
});
