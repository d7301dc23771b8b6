import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

/** Without pgvector, so many vectors are compared in this process at most; with it, so many before its index is used. */
export const EXACT_UP_TO = 10_000;

export const STORE_FACTS: StoreDriverFacts = {
  name: "postgres",
  connects: true,
  capabilities: {
    // Whatever its settings, the server outlives this process. More is known once it was asked.
    durability: "os",
    transactions: true,
    ttl: true,
    maxItemBytes: 64 * 1024 * 1024,
    vectorSearch: "exact",
    maxExactVectors: EXACT_UP_TO,
  },
};
