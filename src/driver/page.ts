import { StateError } from "../errors.ts";
import { nodeCrypto } from "../internal/node-builtins.ts";
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

/** The listing that a cursor belongs to. */
type Walk = "checkpoints" | "threads" | "metadata" | "search" | "standing";

/**
 * A driver's cursor together with proof of where it came from. Many drivers use
 * plain ids as cursors and would accept any text: a listing that starts in the
 * wrong place looks like an empty storage.
 */
export function signCursor(walk: Walk, cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, "utf8").toString("base64url");
  return `${text}.${proofOf(walk, text)}`;
}

export function verifyCursor(walk: Walk, cursor: unknown): string | undefined {
  if (cursor === undefined) return undefined;
  const [text = "", proof, ...rest] = typeof cursor === "string" ? cursor.split(".") : [];
  if (rest.length === 0 && proof === proofOf(walk, text)) return Buffer.from(text, "base64url").toString("utf8");
  throw new StateError(
    "INVALID_ARGUMENT",
    "a cursor is the text that the page before gave; hand back page.cursor of the same method as it is",
  );
}

/** The position that a cursor of `listCheckpoints` encodes. */
export function positionFrom(cursor: unknown): number {
  if (typeof cursor === "string" && /^[1-9]\d{0,15}$/.test(cursor)) return Number(cursor);
  throw new StateError(
    "INVALID_ARGUMENT",
    "this cursor was not made by listCheckpoints; hand back page.cursor as it is",
  );
}

const proofOf = (walk: Walk, text: string): string =>
  nodeCrypto().createHash("sha256").update(`${walk} ${text}`).digest("base64url").slice(0, 8);
