import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

/** Without pgvector, at most this many vectors are compared in this process. With it, its index is used above this number. */
export const EXACT_UP_TO = 10_000;

export const STORE_FACTS: StoreDriverFacts = {
  name: "postgres",
  connects: true,
  capabilities: {
    // Whatever its settings, the server outlives this process. The first contact may tell more.
    durability: "os",
    transactions: true,
    ttl: true,
    maxItemBytes: 64 * 1024 * 1024,
    vectorSearch: "exact",
    maxExactVectors: EXACT_UP_TO,
  },
};
