import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

/** So many vectors are compared one by one before an index is used, where there is one. */
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
    // Until the table was looked at.
    vectorSearch: "none",
    maxExactVectors: Number.POSITIVE_INFINITY,
  },
};
