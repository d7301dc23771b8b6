import { type JsonObject, type JsonValue, membersOf, tagOf } from "../state/values/tags.ts";

/**
 * What filters look at, made from an encoded value: a tree of plain JSON that
 * every storage reads alike. What is not JSON becomes `{}`, which is there and
 * equals nothing; `undefined` is not there. Characters that PostgreSQL's jsonb
 * refuses and SQLite cuts texts off at are written as others, in the tree and in
 * what it is compared with, so that different texts stay different.
 */
export function projectFields(encoded: JsonValue): JsonValue {
  if (typeof encoded === "string") return safeText(encoded);
  if (typeof encoded !== "object" || encoded === null) return encoded;
  if (Array.isArray(encoded)) return [];
  const members = membersOf(encoded);
  // JSON has a zero without a sign.
  if (members === undefined) return tagOf(encoded) === "number" && (encoded as JsonObject)["v"] === "-0" ? 0 : {};
  const projected = Object.entries(members)
    .filter(([, value]) => !isUndefined(value))
    .map(([name, value]) => [safeText(name), projectFields(value)] as const);
  return Object.fromEntries(projected);
}

const isUndefined = (value: JsonValue): boolean => tagOf(value) === "undefined";

/**
 * U+0000 and halves of surrogate pairs, written with characters that stand in
 * the same place of the order: behind U+0001, and behind U+E000.
 */
const UNSAFE = /[\u0000\u0001\ue000]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export const safeText = (text: string): string =>
  text.replaceAll(UNSAFE, (character) => {
    if (character === "\u0000") return "\u00010";
    if (character === "\u0001" || character === "\ue000") return `${character}1`;
    return `\ue0000${character.charCodeAt(0).toString(16)}`;
  });
