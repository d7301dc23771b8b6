import type { ThreadWarning } from "./warnings.ts";

/** A list that knows whether there is more: hand `cursor` back to get the next page. */
export type Page<Item> = readonly Item[] & {
  readonly cursor: string | undefined;
  /**
   * Threads that this page leaves out or shows in part, because they are damaged
   * or were written by a newer version. At most 20.
   */
  readonly warnings: readonly ThreadWarning[];
};

/** The cursor and the warnings are not enumerable, so that a page prints and compares as the list it is. */
export function page<Item>(
  items: readonly Item[],
  cursor: string | undefined,
  warnings: readonly ThreadWarning[] = [],
): Page<Item> {
  return Object.defineProperties([...items], {
    cursor: { value: cursor },
    warnings: { value: warnings },
  }) as unknown as Page<Item>;
}
