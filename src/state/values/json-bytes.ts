import type { JsonValue } from "./codec.ts";

/**
 * The bytes that `JSON.stringify` and UTF-8 make of a tree, for trees of usual
 * size. Every save makes one, and most of it is the text of a message: written
 * here as it is, it takes half of the time and leaves no other text behind. A text
 * with many escapes in it takes about as long as before.
 */

/** What does not fit is left to `JSON.stringify`. */
const ROOM = 32 * 1024;
const FULL = -1;
/** No character of UTF-16 becomes more bytes than this. */
const BYTES_PER_UNIT = 3;

/** Made with the first one: whoever imports the package may never save. */
let scratch: Buffer | undefined;

/** `undefined` if there is too much of it. The tree is one that `encodeValue` made: nothing in it is left out of JSON. */
export function jsonBytes(tree: JsonValue): Buffer | undefined {
  scratch ??= Buffer.allocUnsafeSlow(ROOM);
  const end = put(scratch, tree, 0);
  // The ends of many lists within one another are more than the spare room.
  if (end === FULL || end > ROOM) return undefined;
  const bytes = Buffer.allocUnsafe(end);
  scratch.copy(bytes, 0, 0, end);
  return bytes;
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [LIST_BEGINS, LIST_ENDS, OBJECT_BEGINS, OBJECT_ENDS] = [0x5b, 0x5d, 0x7b, 0x7d];
const [FIRST_PRINTABLE, LAST_PRINTABLE] = [0x20, 0x7e];
/** More than the quotes, brackets and commas around any part, and than any number. */
const SPARE = 64;

/** Returns where the next part begins, here and below; or `FULL`. */
function put(into: Buffer, value: JsonValue, at: number): number {
  if (at > ROOM - SPARE) return FULL;
  if (typeof value === "string") return putText(into, value, at);
  if (typeof value !== "object" || value === null) return at + into.write(String(value), at);
  return Array.isArray(value) ? putList(into, value, at) : putObject(into, value as JsonObject, at);
}

type JsonObject = { readonly [key: string]: JsonValue };

function putList(into: Buffer, list: readonly JsonValue[], at: number): number {
  let end = at;
  into[end++] = LIST_BEGINS;
  for (let index = 0; index < list.length; index++) {
    if (index > 0) into[end++] = COMMA;
    end = put(into, list[index] as JsonValue, end);
    if (end === FULL) return FULL;
  }
  into[end] = LIST_ENDS;
  return end + 1;
}

function putObject(into: Buffer, object: JsonObject, at: number): number {
  let end = at;
  into[end++] = OBJECT_BEGINS;
  for (const key of Object.keys(object)) {
    if (end > at + 1) into[end++] = COMMA;
    end = putText(into, key, end);
    if (end === FULL) return FULL;
    into[end++] = COLON;
    end = put(into, object[key] as JsonValue, end);
    if (end === FULL) return FULL;
  }
  into[end] = OBJECT_ENDS;
  return end + 1;
}

/** For a short text, a call of `write` takes longer than its characters. */
const SHORT = 64;

function putText(into: Buffer, text: string, at: number): number {
  if (at + text.length > ROOM - SPARE) return FULL;
  if (text.length > SHORT) return putLongText(into, text, at);
  into[at] = QUOTE;
  let end = at + 1;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < FIRST_PRINTABLE || unit > LAST_PRINTABLE || unit === QUOTE || unit === BACKSLASH) {
      return write(into, JSON.stringify(text), at);
    }
    into[end++] = unit;
  }
  into[end] = QUOTE;
  return end + 1;
}

function putLongText(into: Buffer, text: string, at: number): number {
  const escaped = withEscapes(text);
  if (escaped === undefined) return write(into, JSON.stringify(text), at);
  into[at] = QUOTE;
  const end = write(into, escaped, at + 1);
  if (end === FULL) return FULL;
  into[end] = QUOTE;
  return end + 1;
}

const write = (into: Buffer, text: string, at: number): number =>
  at + text.length * BYTES_PER_UNIT > ROOM - SPARE ? FULL : at + into.write(text, at);

const CONTROL = /[\u0000-\u001f]/;
/** What texts of people and models have in them; the rest of what JSON escapes is rare. The backslash comes first. */
const COMMON: readonly (readonly [string, string])[] = [
  ["\\", "\\\\"],
  ['"', '\\"'],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
];

/** What `JSON.stringify` puts between the quotes, which looks at each character by itself. `undefined` if that is needed. */
function withEscapes(text: string): string | undefined {
  let escaped = text;
  for (const [plain, instead] of COMMON) if (escaped.includes(plain)) escaped = escaped.replaceAll(plain, instead);
  return CONTROL.test(escaped) || !text.isWellFormed() ? undefined : escaped;
}
