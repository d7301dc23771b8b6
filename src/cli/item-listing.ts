import { encodeValue } from "../state/values/codec.ts";
import type { Namespace } from "../store/driver/store-driver.ts";
import type { StoreHit } from "../store/items/items.ts";
import { UsageError } from "./exit-codes.ts";
import type { Column, Listing } from "./output/printer.ts";

/** A namespace as people write it: its segments with slashes between them. In a segment, / is %2F and % is %25. */
export function namespaceOf(text: string): Namespace {
  if (text === "" || text === "/") return [];
  return text.split("/").map((segment) => {
    if (segment === "") throw new UsageError("a namespace is its segments with single slashes between them: users/ann");
    return segment.replace(/%2f/gi, "/").replaceAll("%25", "%");
  });
}

export const namespaceText = (namespace: Namespace): string =>
  namespace.length === 0 ? "/" : namespace.map((each) => each.replaceAll("%", "%25").replaceAll("/", "%2F")).join("/");

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
