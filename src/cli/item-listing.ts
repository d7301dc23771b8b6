import { encodeValue } from "../state/values/codec.ts";
import type { StoreHit } from "../store/items/items.ts";
import { namespaceText } from "./namespaces.ts";
import type { Column, Listing } from "./output/printer.ts";

const COLUMNS: readonly Column<StoreHit>[] = [
  { title: "namespace", cell: ({ namespace }) => ({ id: namespaceText(namespace) }) },
  { title: "key", cell: ({ key }) => ({ id: key }) },
  { title: "updated", cell: ({ updatedAt }) => updatedAt },
  { title: "version", cell: ({ version }) => version, align: "right" },
  { title: "value", cell: ({ value }) => JSON.stringify(encodeValue(value, "value")) },
];

/** An item as a program gets it; what JSON has no form for is tagged, as everywhere. */
export const itemJson = (item: StoreHit): unknown => ({
  ...item,
  value: encodeValue(item.value, "value"),
  metadata: encodeValue(item.metadata, "metadata"),
});

/** How items are printed, wherever they come from. */
export const itemListing = (
  items: Listing<StoreHit>["items"],
  cursor: () => string | undefined,
): Listing<StoreHit> => ({
  items,
  columns: COLUMNS,
  json: itemJson,
  id: ({ namespace, key }) => `${namespaceText(namespace)}\t${key}`,
  cursor,
});
