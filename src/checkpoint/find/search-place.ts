import { StateError } from "../../errors.ts";
import type { SearchOrder } from "../log/thread-log.ts";

const RANKED_BY_DEFAULT = 10_000;

/** The option `searchRanksUpTo`: ranking looks at every hit, so it is bounded. */
export function ranksUpToOf(given: number = RANKED_BY_DEFAULT): number {
  if (Number.isInteger(given) && given >= 1 && given <= 1_000_000) return given;
  throw new StateError("INVALID_ARGUMENT", "searchRanksUpTo must be a whole number from 1 to 1000000");
}

type Kinds = readonly ("number" | "string")[];
type Parts<Wanted extends Kinds> = { [At in keyof Wanted]: Wanted[At] extends "number" ? number : string };

/** The place of a hit in its order, as text: what the driver sorts by. */
export const placeOf = (order: SearchOrder, ...parts: readonly (number | string)[]): string =>
  JSON.stringify([order, ...parts]);

/** A place that came back. It was in others' hands, so it is checked part by part. */
export function openPlace<const Wanted extends Kinds>(
  place: string,
  wanted: Wanted,
): { readonly order: SearchOrder; readonly parts: Parts<Wanted> } {
  const [order, ...parts] = listIn(place);
  const isWhole = (part: unknown, kind: Kinds[number]): boolean =>
    kind === "number" ? Number.isSafeInteger(part) : typeof part === "string" && part.isWellFormed();
  const fits = parts.length === wanted.length && wanted.every((kind, at) => isWhole(parts[at], kind));
  if ((order === "best" || order === "newest") && fits) return { order, parts: parts as unknown as Parts<Wanted> };
  throw new StateError(
    "INVALID_ARGUMENT",
    "a search continues behind the place of one of its hits, handed back as it is",
  );
}

function listIn(place: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(place);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** For a driver that gives its hits no places: beginning anew would look like the next page. */
export function assertNoPlace(after: string | undefined): void {
  if (after === undefined) return;
  throw new StateError("INVALID_ARGUMENT", "a search is not continued here: ask for more hits at once");
}
