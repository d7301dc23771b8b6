import type { Durability } from "../../driver/durability.ts";
import type { StoreDriverFacts } from "../../store/deferred-driver.ts";

/** What is known of the driver before it is loaded: a file's promises do not depend on whether it is open. */
export const storeFacts = (durability: Durability): StoreDriverFacts => ({
  name: "sqlite",
  connects: false,
  capabilities: {
    durability,
    transactions: true,
    // An expired item is never read again. Later writes remove it from the file, because there is no server to do it.
    ttl: true,
    maxItemBytes: 64 * 1024 * 1024,
    vectorSearch: "exact",
    maxExactVectors: Number.POSITIVE_INFINITY,
  },
});
