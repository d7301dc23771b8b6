import { StateError } from "../../errors.ts";
import {
  defineOwn,
  freezeDate,
  freezeMap,
  freezeSet,
  immutableCopy,
  MAX_DEPTH,
  own,
  ownBytes,
  SealedValue,
} from "./doorway.ts";
import { pathTo } from "./path.ts";
import { DAMAGED, isBase64, isLeafTag, type JsonObject, type JsonValue, leafOf, TAG, taggedLeaf } from "./tags.ts";

/** Lossless JSON: what JSON lacks is written as a tag of the closed table in `tags.ts`. */

export type { JsonValue } from "./tags.ts";

/** A Map inside a Map costs three levels of JSON for one level of value. */
const MAX_TREE_DEPTH = MAX_DEPTH * 4;

/** The JSON text of any storable value. Refuses any other with its path below `name`. */
export const encodeText = (value: unknown, name: string): string => jsonText(encodeValue(value, name));

/** A JSON tree without functions, classes or surprises. Shares whatever needed no tag. */
export const encodeValue = (value: unknown, name: string): JsonValue => encode(immutableCopy(value, name), []);

/** The same for a value that already passed the doorway, or consists only of parts that did. */
export function encodeOwnedValue(value: unknown, name: string): JsonValue {
  try {
    return encode(value, []);
  } catch (error) {
    throw notEncoded(error, name, value);
  }
}

/**
 * Its JSON text. Errors give paths below what `root` returns, of which the value may be a
 * part. Byte arrays on the way are added to `met`, for callers that watch whether they change.
 */
export function encodeOwned(
  value: unknown,
  name: string,
  root: () => unknown = () => value,
  met: Uint8Array[] = [],
): string {
  try {
    return jsonText(encode(value, met));
  } catch (error) {
    throw notEncoded(error, name, root());
  }
}

/**
 * What `JSON.stringify` gives for a tree, which looks at each character of a text by itself: of the 13 µs that a save in
 * memory takes, that would be 3 more. So it gets only the texts in which something is escaped.
 */
export function jsonText(tree: JsonValue): string {
  if (typeof tree === "string") {
    const isEscaped = tree.includes('"') || tree.includes("\\") || CONTROL.test(tree) || !tree.isWellFormed();
    return isEscaped ? JSON.stringify(tree) : `"${tree}"`;
  }
  if (typeof tree !== "object" || tree === null) return String(tree);
  let text = "";
  if (Array.isArray(tree)) {
    for (const item of tree) text += `${text === "" ? "" : ","}${jsonText(item)}`;
    return `[${text}]`;
  }
  for (const key of Object.keys(tree)) {
    text += `${text === "" ? "" : ","}${jsonText(key)}:${jsonText((tree as JsonObject)[key] as JsonValue)}`;
  }
  return `{${text}}`;
}

const CONTROL = /[\u0000-\u001f]/;

/**
 * A value that passed the doorway can still be tampered with through a prototype's methods: it must not become `null`
 * silently. And a text can be longer than a string may be: then no storage would take it either.
 */
function notEncoded(error: unknown, name: string, root: unknown): unknown {
  if (error instanceof RangeError) {
    return new StateError("TOO_LARGE", `${name} is too large`, { path: name, cause: error });
  }
  if (!(error instanceof Unstorable)) return error;
  const path = pathTo(error.part, root, name) ?? name;
  const message = `${path}: a ${typeof error.part} cannot be stored; keep plain data there`;
  return new StateError("INVALID_ARGUMENT", message, { path });
}

class Unstorable extends Error {
  readonly part: unknown;

  constructor(part: unknown) {
    super("a part that cannot be stored");
    this.part = part;
  }
}

/**
 * The value behind JSON text written by `encodeText`. Its byte arrays are added to
 * `met`. The outermost `wrapping` levels only say where the values inside belong:
 * they are left as they were parsed, neither frozen nor taken for a value.
 */
export function decodeText(text: string, name: string, met: Uint8Array[] = [], wrapping = 0): unknown {
  let tree: unknown;
  try {
    tree = JSON.parse(text);
  } catch (cause) {
    throw new StateError("CORRUPT", `${name} is not JSON`, { path: name, cause });
  }
  return decodeParsed(tree, name, met, wrapping);
}

/** The same for a tree that was just parsed and has no other holder: it becomes the value. */
export const decodeParsed = (tree: unknown, name: string, met: Uint8Array[], wrapping: number): unknown =>
  decodeBelow(tree, { name, met }, 0, wrapping);

/** The value behind a tree made by `encodeValue`. The given tree is left as it is. */
export const decodeValue = (tree: unknown, name: string): unknown =>
  decodeOwned(copyTree(tree, name, 0), { name, met: [] }, 0);

/** What is being decoded: its name for errors, and the byte arrays found so far. */
interface Source {
  readonly name: string;
  readonly met: Uint8Array[];
}

function copyTree(tree: unknown, name: string, depth: number): unknown {
  if (depth > MAX_TREE_DEPTH) throw tooDeep(name);
  if (Array.isArray(tree)) {
    const copy: unknown[] = [];
    for (const item of tree) copy.push(copyTree(item, name, depth + 1));
    return copy;
  }
  if (typeof tree === "object" && tree !== null) {
    const copy: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(tree)) defineOwn(copy, key, copyTree(value, name, depth + 1));
    return copy;
  }
  if (tree === null || typeof tree === "string" || typeof tree === "number" || typeof tree === "boolean") return tree;
  throw new StateError("CORRUPT", `${name} holds a ${typeof tree}, which JSON cannot`, { path: name });
}

const tooDeep = (name: string): StateError =>
  new StateError("CORRUPT", `${name} is nested too deeply to be ours`, { path: name });

function encode(value: unknown, met: Uint8Array[]): JsonValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return taggedLeaf(value) ?? value;
    case "function":
    case "symbol":
      throw new Unstorable(value);
    case "object":
      return value === null ? null : encodeObject(value, met);
    default:
      return taggedLeaf(value) ?? null;
  }
}

function encodeObject(value: object, met: Uint8Array[]): JsonValue {
  if (Array.isArray(value)) return encodeItems(value, met);
  if (value instanceof Map) return { [TAG]: "map", v: [...value].map((pair) => encodeItems(pair, met)) };
  if (value instanceof Set) return { [TAG]: "set", v: encodeItems([...value], met) };
  if (value instanceof SealedValue) return { [TAG]: "sealed", k: value.keyId, v: value.sealed };
  if (value instanceof Uint8Array) met.push(value);
  const leaf = taggedLeaf(value);
  if (leaf !== undefined) return leaf;
  const plain = encodeProperties(value as Record<string, unknown>, met);
  if (Object.getPrototypeOf(value) === null) return { [TAG]: "bare", v: plain };
  return Object.hasOwn(value, TAG) ? { [TAG]: "object", v: plain } : plain;
}

function encodeItems(items: readonly unknown[], met: Uint8Array[]): readonly JsonValue[] {
  let changed: JsonValue[] | undefined;
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    const encoded = encode(item, met);
    if (changed === undefined && encoded !== item) changed = items.slice(0, index) as JsonValue[];
    changed?.push(encoded);
  }
  return changed ?? (items as readonly JsonValue[]);
}

function encodeProperties(value: Record<string, unknown>, met: Uint8Array[]): JsonObject {
  let changed: Record<string, JsonValue> | undefined;
  for (const key of Object.keys(value)) {
    const encoded = encode(value[key], met);
    if (encoded === value[key]) continue;
    changed ??= copyOwn(value);
    defineOwn(changed, key, encoded);
  }
  return changed ?? (value as JsonObject);
}

/** Spread copies own keys, "__proto__" among them, without ever calling a setter. */
const copyOwn = (value: Record<string, unknown>): Record<string, JsonValue> =>
  ({ ...value }) as Record<string, JsonValue>;

function decodeBelow(tree: unknown, source: Source, depth: number, wrapping: number): unknown {
  if (depth === wrapping || !isPlain(tree) || Object.hasOwn(tree, TAG)) return decodeOwned(tree, source, depth);
  for (const key of Object.keys(tree)) tree[key] = decodeBelow(tree[key], source, depth + 1, wrapping);
  return tree;
}

/**
 * Turns a freshly parsed tree, which has no other holder, into values; in place where possible.
 */
function decodeOwned(tree: unknown, source: Source, depth: number): unknown {
  if (typeof tree !== "object" || tree === null) return tree;
  if (depth > MAX_TREE_DEPTH) throw tooDeep(source.name);
  if (Array.isArray(tree)) {
    for (let index = 0; index < tree.length; index++) {
      const item: unknown = tree[index];
      if (typeof item === "object" && item !== null) tree[index] = decodeOwned(item, source, depth + 1);
    }
    return own(tree);
  }
  const record = tree as Record<string, unknown>;
  return Object.hasOwn(record, TAG) ? decodeTag(record, source, depth) : decodeProperties(record, source, depth);
}

function decodeProperties(record: Record<string, unknown>, source: Source, depth: number): unknown {
  for (const key of Object.keys(record)) {
    const item = record[key];
    if (typeof item === "object" && item !== null) record[key] = decodeOwned(item, source, depth + 1);
  }
  return own(record);
}

function decodeTag(record: Record<string, unknown>, source: Source, depth: number): unknown {
  const { [TAG]: tag, k, v } = record;
  if (isLeafTag(tag)) {
    const leaf = leafOf(tag, v);
    if (leaf !== DAMAGED) return ownLeaf(leaf, source);
  } else {
    switch (tag) {
      case "map":
        if (isListOfPairs(v)) return own(freezeMap(new Map(decodeOwned(v, source, depth + 1) as [unknown, unknown][])));
        break;
      case "set":
        if (Array.isArray(v)) return own(freezeSet(new Set(decodeOwned(v, source, depth + 1) as unknown[])));
        break;
      case "object":
        if (isPlain(v)) return decodeProperties(v, source, depth + 1);
        break;
      case "bare":
        if (isPlain(v))
          return decodeProperties(Object.setPrototypeOf(v, null) as Record<string, unknown>, source, depth + 1);
        break;
      case "sealed":
        if (typeof k === "string" && isBase64(v)) return own(new SealedValue(k, v));
        break;
      default:
        throw new StateError(
          "INCOMPATIBLE",
          `${source.name} holds a value of the unknown kind ${JSON.stringify(tag)}`,
          { path: source.name },
        );
    }
  }
  throw new StateError("CORRUPT", `${source.name} holds a damaged ${tag} value`, { path: source.name });
}

function ownLeaf(leaf: unknown, { met }: Source): unknown {
  if (leaf instanceof Date) return own(freezeDate(leaf));
  if (!(leaf instanceof Uint8Array)) return leaf;
  met.push(leaf);
  return ownBytes(leaf);
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isListOfPairs = (value: unknown): value is [unknown, unknown][] =>
  Array.isArray(value) && value.every((pair) => Array.isArray(pair) && pair.length === 2);

/** The same text for equal values: keys are sorted at every level. */
export const canonicalJson = (value: unknown): string => JSON.stringify(ordered(encodeValue(value, "value")));

function ordered(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const entries = Object.entries(value as JsonObject);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, ordered(item)]));
}
