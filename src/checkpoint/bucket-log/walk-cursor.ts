import { StateError } from "../../errors.ts";
import { isThreadName } from "./layout.ts";

/** How far a walk has come. Its text is the cursor: names and marks, separated by `!`, which no name contains. */
export interface WalkProgress {
  /** The last name that was read; empty at the start, `END` when only the damaged ones are left. */
  readonly after: string;
  /** The first that could not be read, then `MORE` if there were others. */
  readonly damaged: readonly string[];
}

export const START: WalkProgress = { after: "", damaged: [] };

/** Neither is the name of a thread. */
export const END = ".";
export const MORE = "+";

/** A cursor travels in a URL, so it must not grow with the damage. */
const MOST_REMEMBERED = 8;

export function withDamaged(damaged: readonly string[], name: string): readonly string[] {
  if (damaged.length < MOST_REMEMBERED) return [...damaged, name];
  return damaged.at(-1) === MORE ? damaged : [...damaged, MORE];
}

export const cursorOf = ({ after, damaged }: WalkProgress): string | undefined =>
  after === "" ? undefined : [after, ...damaged].join("!");

export function progressFrom(cursor: string | undefined): WalkProgress {
  if (cursor === undefined) return START;
  const [after = "", ...damaged] = cursor.split("!");
  const named = damaged.at(-1) === MORE ? damaged.slice(0, -1) : damaged;
  const isPlace = isThreadName(after) || (after === END && damaged.length > 0);
  if (isPlace && named.every(isThreadName)) return { after, damaged };
  throw new StateError("INVALID_ARGUMENT", "this cursor was not made by this backend; hand back page.cursor as it is");
}
