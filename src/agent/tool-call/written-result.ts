import { reasonOf } from "../../errors.ts";
import { described } from "../../internal/known-options.ts";

/** A tool's return value as text for a model, or why it cannot be written down. */
export type WrittenResult = { readonly text: string } | { readonly fault: string };

/**
 * JSON, without its silent losses: what JSON would write as `{}`, as `null` or
 * not at all although there is something is refused with its path. A tool that
 * returns nothing is done.
 */
export function writtenResult(result: unknown): WrittenResult {
  if (typeof result === "string") return { text: result };
  if (result === undefined) return { text: "done" };
  const places = new Map<unknown, string>();
  let last: { readonly place: string; readonly value: unknown; readonly holder: object } | undefined;
  const holders = new Map<unknown, object>();
  let fault: string | undefined;
  // Called with the holder as `this`: a value with toJSON is looked at before it became something else.
  function look(this: unknown, key: string, written: unknown): unknown {
    const value = (this as Readonly<Record<string, unknown>>)[key];
    const place = key === "" && !places.has(this) ? "result" : pathOf(places.get(this), key, Array.isArray(this));
    last = { place, value: written, holder: this as object };
    if (typeof value === "object" && value !== null && !places.has(written)) {
      places.set(written, place);
      holders.set(written, this as object);
    }
    fault ??= faultIn(value, place, Array.isArray(this) || place === "result");
    return fault === undefined ? written : null;
  }
  try {
    const text = JSON.stringify(result, look);
    return fault === undefined ? { text } : { fault };
  } catch (error) {
    // The value that JSON met again was looked at right before.
    for (let holder: object | undefined = last?.holder; holder !== undefined; holder = holders.get(holder)) {
      if (holder === last?.value) return { fault: `${last.place} is circular: it is ${places.get(holder)} again` };
    }
    return { fault: reasonOf(error).split("\n")[0] ?? "it is no JSON" };
  }
}

const pathOf = (parent: string | undefined, key: string, inList: boolean): string =>
  inList ? `${parent ?? "result"}[${key}]` : `${parent ?? "result"}.${key}`;

/** `isNeeded`: where JSON would leave a gap. The methods of an object are not part of its content. */
function faultIn(value: unknown, place: string, isNeeded: boolean): string | undefined {
  if (typeof value === "function" || typeof value === "symbol") {
    return isNeeded ? `${place} is a ${typeof value}` : undefined;
  }
  if (typeof value === "bigint") return `${place} is a BigInt`;
  if (typeof value === "number" && !Number.isFinite(value)) return `${place} is ${value}`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  if (value instanceof Error) return `${place} is an Error: ${reasonOf(value)}`;
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return undefined;
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) return isA(place, value);
  const members = Object.values(value);
  if (isPlain(value) && members.every((member) => member === undefined)) return undefined;
  return members.some(isWritten) ? undefined : isA(place, value);
}

/** What JSON writes of an object's members. */
const isWritten = (member: unknown): boolean => !["function", "symbol", "undefined"].includes(typeof member);

function isA(place: string, value: object): string {
  const what = described(value);
  return `${place} is ${what === "an object" ? "an object whose content JSON does not show" : what}`;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
