import { type Bind, number, text } from "./binds.ts";

/**
 * What JSON functions may not understand: U+0000, and halves of surrogate
 * pairs, which JSON writes as escapes. Literal text that only looks like one is
 * taken for one too, which makes the search for it slower and not wrong.
 */
const UNINDEXABLE = /\\u(?:0000|d[89a-f])/i;

export const isUnindexable = (metadata: string | undefined): boolean =>
  metadata !== undefined && UNINDEXABLE.test(metadata);

/** What stands in a path as it is: a path is part of the statement, and nothing that a caller gave may end it. */
const PLAIN_KEY = /^[A-Za-z0-9_][A-Za-z0-9_ .:/-]{0,199}$/;
export const isPlainKey = (key: string): boolean => PLAIN_KEY.test(key);

/** A string that fits a bind of every database. */
const MOST_TEXT_BYTES = 1000;
/** The numbers that a NUMBER holds. */
const LEAST_NUMBER = 1e-100;
const MOST_NUMBER = 1e100;

/** A condition on the metadata `column` that every thread with this member meets; a few others may, too. */
export interface MemberCondition {
  readonly condition: string;
  readonly binds: Readonly<Record<string, Bind>>;
}

/** No condition where SQL cannot say it. */
export function memberCondition(column: string, key: string, valueJson: string): MemberCondition | undefined {
  if (!isPlainKey(key)) return undefined;
  const bind = comparable(valueJson);
  if (bind === undefined) return { condition: `JSON_EXISTS(${column}, '$."${key}"')`, binds: {} };
  const condition = `JSON_EXISTS(${column}, '$?(@."${key}" == $v)' PASSING :b_value AS "v")`;
  return { condition, binds: { b_value: bind } };
}

/** What a value is compared with in SQL; nothing where SQL cannot do it. */
export function comparable(valueJson: string): Bind | undefined {
  if (UNINDEXABLE.test(valueJson)) return undefined;
  const value: unknown = JSON.parse(valueJson);
  if (typeof value === "number") {
    const size = Math.abs(value);
    return value === 0 || (size > LEAST_NUMBER && size < MOST_NUMBER) ? number(value) : undefined;
  }
  // An empty text is NULL, and so equal to nothing.
  if (typeof value !== "string" || value === "" || Buffer.byteLength(value) > MOST_TEXT_BYTES) return undefined;
  return text(value);
}

/** Whether the object in `text` has `key` with that very JSON value. */
export function hasMember(metadata: string | undefined, key: string, valueJson: string): boolean {
  if (metadata === undefined) return false;
  const parsed: unknown = JSON.parse(metadata);
  if (typeof parsed !== "object" || parsed === null || !Object.hasOwn(parsed, key)) return false;
  return JSON.stringify((parsed as Readonly<Record<string, unknown>>)[key]) === valueJson;
}
