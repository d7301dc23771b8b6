import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

/** What is known of the driver before it is loaded. */
export const STORE_FACTS: StoreDriverFacts = {
  name: "memory",
  connects: false,
  capabilities: {
    durability: "memory",
    transactions: true,
    ttl: true,
    maxItemBytes: 64 * 1024 * 1024,
    vectorSearch: "exact",
    maxExactVectors: Number.POSITIVE_INFINITY,
  },
};
