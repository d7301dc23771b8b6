import type { Durability } from "../../driver/durability.ts";
import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

/** What is known of the driver before it is loaded: a file promises what it promises, open or not. */
export const storeFacts = (durability: Durability): StoreDriverFacts => ({
  name: "sqlite",
  connects: false,
  capabilities: {
    durability,
    transactions: true,
    // What ended is never read again. It leaves the file with one of the next writes, because no server would do it.
    ttl: true,
    maxItemBytes: 64 * 1024 * 1024,
    vectorSearch: "exact",
    maxExactVectors: Number.POSITIVE_INFINITY,
  },
});
