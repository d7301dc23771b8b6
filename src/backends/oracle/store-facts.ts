import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

/** Up to this many vectors are compared exactly before an index is used, if there is one. */
export const EXACT_UP_TO = 10_000;

export const DEFAULT_STORE_TABLE = "HOLDFAST_STORE";

export const STORE_FACTS: StoreDriverFacts = {
  name: "oracle",
  connects: true,
  capabilities: {
    durability: "fsync",
    transactions: true,
    ttl: true,
    maxItemBytes: 64 * 1024 * 1024,
    // Until the table was inspected.
    vectorSearch: "none",
    maxExactVectors: Number.POSITIVE_INFINITY,
  },
};
