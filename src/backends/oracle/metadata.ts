import { type Bind, number, text } from "./binds.ts";

/**
 * What JSON functions may not understand: U+0000 and unpaired surrogates, which JSON
 * writes as escapes. Literal text that only looks like such an escape matches too.
 * That makes a query slower, never wrong.
 */
const UNINDEXABLE = /\\u(?:0000|d[89a-f])/i;

export const isUnindexable = (metadata: string | undefined): boolean =>
  metadata !== undefined && UNINDEXABLE.test(metadata);

/** Keys that may appear in a path. A path is part of the statement, so no key may end it. */
const PLAIN_KEY = /^[A-Za-z0-9_][A-Za-z0-9_ .:/-]{0,199}$/;
export const isPlainKey = (key: string): boolean => PLAIN_KEY.test(key);

/** A string that fits into a bind of every database. */
const MOST_TEXT_BYTES = 1000;
/** The numbers that a NUMBER holds. */
const LEAST_NUMBER = 1e-100;
const MOST_NUMBER = 1e100;

/** The value that SQL compares with; `undefined` if SQL cannot compare it. */
export function comparable(valueJson: string): Bind | undefined {
  if (UNINDEXABLE.test(valueJson)) return undefined;
  const value: unknown = JSON.parse(valueJson);
  if (typeof value === "number") {
    const size = Math.abs(value);
    return value === 0 || (size > LEAST_NUMBER && size < MOST_NUMBER) ? number(value) : undefined;
  }
  // An empty string is NULL, and so equal to nothing.
  if (typeof value !== "string" || value === "" || Buffer.byteLength(value) > MOST_TEXT_BYTES) return undefined;
  return text(value);
}
