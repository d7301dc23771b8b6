import type { BaseStore } from "../../store/base-store.ts";
import type { ConformanceSuite } from "../conformance-case.ts";
import { batchCases } from "./batches.ts";
import { expiringCases } from "./expiring.ts";
import { filteringCases } from "./filtering.ts";
import { listingCases } from "./listing.ts";
import { livingCases } from "./living.ts";
import { namespaceCases } from "./namespaces.ts";
import { type StoreCase, type StoreNeed, storeOffers } from "./store-case.ts";
import { textSearchCases } from "./text-search.ts";
import { valueCases } from "./values.ts";
import { vectorCases } from "./vectors.ts";
import { versionCases } from "./versions.ts";

/** Every promise of a store, on any storage. */
export const storeCases: readonly StoreCase[] = [
  ...valueCases,
  ...versionCases,
  ...namespaceCases,
  ...listingCases,
  ...batchCases,
  ...filteringCases,
  ...textSearchCases,
  ...vectorCases,
  ...expiringCases,
  ...livingCases,
];

export const storeSuite: ConformanceSuite<BaseStore, StoreNeed> = {
  title: "store",
  cases: storeCases,
  offers: storeOffers,
};
