import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

/** At most this many vectors are compared in this process; plain Redis has no vector search. */
export const EXACT_UP_TO = 10_000;

export const STORE_FACTS: StoreDriverFacts = {
  name: "redis",
  connects: true,
  capabilities: {
    durability: "memory",
    transactions: true,
    ttl: true,
    // A string may have 512 MB, but the server is blocked while it receives one.
    maxItemBytes: 16 * 1024 * 1024,
    vectorSearch: "exact",
    maxExactVectors: EXACT_UP_TO,
  },
};
