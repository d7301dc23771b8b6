import assert from "node:assert/strict";
import type { BaseStore } from "../../store/base-store.ts";
import type { Namespace } from "../../store/driver/store-driver.ts";
import type { ListOptions, StoreItem } from "../../store/items/items.ts";

/** Every item of a listing, page by page. */
export async function allItems(
  store: BaseStore,
  namespace: Namespace,
  options: ListOptions = {},
): Promise<readonly StoreItem[]> {
  const items: StoreItem[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < 1000; pages++) {
    const found = await store.list(namespace, { ...options, ...(cursor !== undefined && { cursor }) });
    items.push(...found);
    if (found.cursor === undefined) return items;
    assert.notEqual(found.cursor, cursor, "a cursor leads on");
    cursor = found.cursor;
  }
  throw new assert.AssertionError({ message: "a listing must come to its end" });
}

/** Every item of the store, as `namespace/key`. */
export const allNames = async (store: BaseStore): Promise<readonly string[]> =>
  (await allItems(store, [], { recursive: true, limit: 500 })).map(nameOf);

export const nameOf = ({ namespace, key }: { readonly namespace: Namespace; readonly key: string }): string =>
  [...namespace, key].join("/");

export const keysOf = (items: readonly { readonly key: string }[]): readonly string[] => items.map(({ key }) => key);
