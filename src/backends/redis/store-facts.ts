import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

/** So many vectors are compared in this process; a plain Redis has nothing that would find them. */
export const EXACT_UP_TO = 10_000;

export const STORE_FACTS: StoreDriverFacts = {
  name: "redis",
  connects: true,
  capabilities: {
    durability: "memory",
    transactions: true,
    ttl: true,
    // A string may have 512 MB, but the server does nothing else while it takes one in.
    maxItemBytes: 16 * 1024 * 1024,
    vectorSearch: "exact",
    maxExactVectors: EXACT_UP_TO,
  },
};
