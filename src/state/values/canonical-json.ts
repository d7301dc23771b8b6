import { encodeValue, type JsonValue } from "./codec.ts";

/** The same text for equal values: keys are sorted at every level. */
export const canonicalJson = (value: unknown): string => JSON.stringify(ordered(encodeValue(value, "value")));

function ordered(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const entries = Object.entries(value as { readonly [key: string]: JsonValue });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, ordered(item)]));
}
