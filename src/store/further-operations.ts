/** What a store loads with the first operation that few programs need. */

export { assertNamespaceNotHeld } from "./holds.ts";
export { namespacesPage } from "./listing-namespaces.ts";
export { removeItem } from "./removing-items.ts";
export { byVector, lacking, rankedPage } from "./searching.ts";
