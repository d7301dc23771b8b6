/** A list that knows whether there is more: hand `cursor` back to get the next page. */
export type Page<Item> = readonly Item[] & { readonly cursor: string | undefined };

/** The cursor is not enumerable, so that a page prints and compares as the list it is. */
export function page<Item>(items: readonly Item[], cursor: string | undefined): Page<Item> {
  return Object.defineProperty([...items], "cursor", { value: cursor }) as unknown as Page<Item>;
}
