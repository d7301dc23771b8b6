import { JSON_TYPE } from "./protocol.ts";
import { absent, json, type Route } from "./route.ts";
import type { SchemaName } from "./schemas.ts";

export type ItemOperation =
  | "itemCapabilities"
  | "itemClock"
  | "writeItems"
  | "removeItems"
  | "clearItems"
  | "readItems"
  | "scanItems"
  | "listNamespaces"
  | "searchItems"
  | "nearestItems"
  | "readVector"
  | "vectorDimension";

const facet = "items";
const body = (schema: SchemaName): NonNullable<Route["request"]> => ({ type: JSON_TYPE, schema });

/** The operations of a `StoreDriver`. Names are tuples and filters are trees, so questions are bodies and not URLs. */
export const ITEM_ROUTES: Readonly<Record<ItemOperation, Route>> = {
  itemCapabilities: {
    method: "GET",
    path: "/v1/items/capabilities",
    access: "any token",
    facet,
    means: "The capabilities of the store behind the service",
    answers: [json("ItemCapabilities", "Its capabilities")],
  },
  itemClock: {
    method: "GET",
    path: "/v1/items/clock",
    access: "any token",
    facet,
    means: "The store's clock, by which items end",
    answers: [json("Clock", "Milliseconds since 1970")],
  },
  writeItems: {
    method: "POST",
    path: "/v1/items/write",
    access: "items:write",
    facet,
    means:
      "Makes all changes or refuses. The same writeKey again within ten minutes changes nothing more. To remove an item, or to give it an end, needs items:delete too",
    request: body("Writes"),
    answers: [
      json("WriteOutcome", "All changes were made, now or before"),
      json("WriteOutcome", "Nothing was written: another version is there", 409),
    ],
  },
  removeItems: {
    method: "POST",
    path: "/v1/items/remove",
    access: "items:delete",
    facet,
    means: "The same for removals alone",
    request: body("Removals"),
    answers: [
      json("WriteOutcome", "All of them are gone, now or before"),
      json("WriteOutcome", "Nothing was removed: another version is there", 409),
    ],
  },
  clearItems: {
    method: "POST",
    path: "/v1/items/clear",
    access: "items:delete",
    facet,
    means: "Deletes items of a namespace that were last written at or before a time of the store's clock",
    request: body("Clear"),
    answers: [json("Count", "How many; fewer than the limit where there are no more")],
  },
  readItems: {
    method: "POST",
    path: "/v1/items/read",
    access: "items:read",
    facet,
    means: "Items by their names, in that order; fewer if they are large: ask again for the rest",
    request: body("Ids"),
    answers: [json("FoundItems", "An entry for each, of the first ones or of all")],
  },
  scanItems: {
    method: "POST",
    path: "/v1/items/scan",
    access: "items:read",
    facet,
    means: "Items in the order of their names; fewer if they are large",
    request: body("Scan"),
    answers: [json("ItemPage", "A page")],
  },
  listNamespaces: {
    method: "POST",
    path: "/v1/items/namespaces",
    access: "items:read",
    facet,
    means: "Namespaces that hold items, in order",
    request: body("NamespaceQuery"),
    answers: [json("NamespacePage", "Fewer than the limit where there are no more")],
  },
  searchItems: {
    method: "POST",
    path: "/v1/items/search",
    access: "items:read",
    facet,
    means: "Items that hold at least one of the words, best first",
    request: body("WordQuery"),
    answers: [json("RankedItems", "What was found")],
  },
  nearestItems: {
    method: "POST",
    path: "/v1/items/nearest",
    access: "items:read",
    facet,
    means: "Items whose vectors have the largest cosines with this one, best first",
    request: body("VectorQuery"),
    answers: [json("RankedItems", "What was found")],
  },
  readVector: {
    method: "POST",
    path: "/v1/items/vector",
    access: "items:read",
    facet,
    means: "The vector of an item",
    request: body("ItemId"),
    answers: [json("FoundVector", "Its vector"), absent],
  },
  vectorDimension: {
    method: "POST",
    path: "/v1/items/dimension",
    access: "items:read",
    facet,
    means: "How many numbers the vectors at or below a namespace have",
    request: body("Below"),
    answers: [json("FoundDimension", "As many"), absent],
  },
};
