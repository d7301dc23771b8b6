/** What a store loads with the first operation that few programs need. */

export { assertItemNotHeld, assertNamespaceNotHeld } from "./holds.ts";
export { namespacesPage } from "./listing-namespaces.ts";
export { byVector, lacking, rankedPage } from "./searching.ts";
