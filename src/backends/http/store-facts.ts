import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

export const STORE_FACTS: StoreDriverFacts = {
  name: "http",
  connects: true,
  /** The least that any service has, before it was asked. */
  capabilities: {
    durability: "memory",
    transactions: false,
    ttl: false,
    maxItemBytes: 64 * 1024,
    vectorSearch: "none",
    maxExactVectors: 0,
    textSearch: false,
  },
};
