import { StateError } from "../../errors.ts";
import { subjectsIn } from "../../state/people/subjects.ts";
import type { ItemId, Namespace } from "./store-driver.ts";

/**
 * The limit for a namespace, all its segments together, and for a key. Both fit the key of any
 * storage's index.
 */
export const MAX_NAMESPACE_BYTES = 1024;
export const MAX_KEY_BYTES = 1024;
/** What a service may put before a namespace, to keep tenants apart. */
const MAX_TENANT_BYTES = 64;
export const MAX_SEGMENTS = 32;

const CONTROL = /[\u0000-\u001f\u007f]/u;

/**
 * Ends each segment of an encoded namespace. No segment can hold it, so the
 * encoding is injective, and a prefix of an encoded namespace always consists of
 * whole segments: `["user1"]` is not a prefix of `["user10"]`.
 */
const END = "\u001f";
/** The character behind it: what is below a namespace lies before this. */
const BEHIND = "\u0020";

/** Refuses an invalid namespace. In a search, the empty one stands for all of them. */
export function assertNamespace(
  namespace: unknown,
  { mayBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {},
): asserts namespace is Namespace {
  if (!Array.isArray(namespace)) {
    throw invalid(`a namespace is a list of texts, such as ["memories", "user-42"], not ${kindOf(namespace)}`);
  }
  if (namespace.length === 0 && !mayBeEmpty) throw invalid("a namespace needs at least one segment");
  if (namespace.length > MAX_SEGMENTS) throw invalid(`a namespace has at most ${MAX_SEGMENTS} segments`);
  let bytes = 0;
  // Not forEach: it would leave holes out.
  for (let index = 0; index < namespace.length; index++) {
    const segment: unknown = namespace[index];
    assertName(segment, `segment ${index} of the namespace`, MAX_NAMESPACE_BYTES);
    bytes += Buffer.byteLength(segment) + 1;
  }
  if (bytes > MAX_NAMESPACE_BYTES + MAX_TENANT_BYTES) {
    throw invalid(`the namespace is ${bytes} bytes long; at most ${MAX_NAMESPACE_BYTES} are taken`);
  }
}

export function assertKey(key: unknown): asserts key is string {
  assertName(key, "key", MAX_KEY_BYTES);
}

function assertName(name: unknown, what: string, maxBytes: number): asserts name is string {
  if (typeof name !== "string") throw invalid(`the ${what} must be a text, not ${kindOf(name)}`);
  if (name === "") throw invalid(`the ${what} must not be empty`);
  // Two different lone surrogates have the same UTF-8, so they would be one name in most storage systems.
  if (!name.isWellFormed()) throw invalid(`the ${what} must be well-formed Unicode: it holds half of a surrogate pair`);
  if (CONTROL.test(name))
    throw invalid(`the ${what} ${JSON.stringify(name.slice(0, 80))} must not hold control characters`);
  const bytes = Buffer.byteLength(name);
  if (bytes > maxBytes) throw invalid(`the ${what} is ${bytes} bytes long; at most ${maxBytes} are taken`);
}

/** One text for a namespace. Those below it begin with it, and others do not. */
export function encodeNamespace(namespace: Namespace): string {
  const encoded = namespace.map((segment) => {
    if (segment.includes(END) || segment.includes(KEY))
      throw invalid("a segment of a namespace must not hold control characters");
    return segment + END;
  });
  return encoded.join("");
}

export const decodeNamespace = (encoded: string): Namespace => encoded.split(END).slice(0, -1);

/** Stands before the key. It comes before every other character, so that what is in a namespace comes before what is below it. */
const KEY = "\u0001";

/** One text for an item; in the order of these, items are listed. */
export function encodeId({ namespace, key }: ItemId): string {
  if (key.includes(END) || key.includes(KEY)) throw invalid("a key must not hold control characters");
  return encodeNamespace(namespace) + KEY + key;
}

/** As people read it: `["users","u1"] "profile"`. */
export const readableId = ({ namespace, key }: ItemId): string =>
  `${JSON.stringify(namespace)} ${JSON.stringify(key)}`.slice(0, 300);

/** The encoded namespaces at or below one, by code points: from the first on and before the second; all of them without a second. */
export function rangeBelow(namespace: Namespace): readonly [from: string, before: string | undefined] {
  const encoded = encodeNamespace(namespace);
  return [encoded, namespace.length === 0 ? undefined : encoded.slice(0, -1) + BEHIND];
}

/** The encoded ids of the items in a namespace, or also of those below it: from the first on and before the second; all without a second. */
export function idRange(namespace: Namespace, recursive: boolean): readonly [from: string, before: string | undefined] {
  if (recursive) return rangeBelow(namespace);
  const encoded = encodeNamespace(namespace);
  return [encoded + KEY, `${encoded}\u0002`];
}

export function decodeId(encoded: string): ItemId {
  const at = encoded.indexOf(KEY);
  return { namespace: decodeNamespace(encoded.slice(0, at)), key: encoded.slice(at + 1) };
}

/** By code points, as UTF-8 and the databases do; `<` goes by UTF-16, where emoji come before some letters. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return ASCII.test(a) && ASCII.test(b) ? (a < b ? -1 : 1) : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

const ASCII = /^[\u0000-\u007f]*$/;

export const compareNamespaces = (a: Namespace, b: Namespace): number =>
  compareText(encodeNamespace(a), encodeNamespace(b));

/** The order in which items are listed: by namespace, then by key. */
export const compareIds = (a: ItemId, b: ItemId): number => compareText(encodeId(a), encodeId(b));

function kindOf(given: unknown): string {
  if (given === null || given === undefined) return String(given);
  return typeof given === "object" ? "an object" : `a ${typeof given}`;
}

const invalid = (message: string): StateError => new StateError("INVALID_ARGUMENT", message);

/** Behind one of these segments of a namespace stands a person's id: so user data and memories lie. */
const OWNING: ReadonlySet<string> = new Set(["holdfast:users", "users"]);

/** The people that a whole item is about: it goes as a whole. */
export const ownersOf = (namespace: Namespace, metadata: Readonly<Record<string, unknown>>): readonly string[] => [
  ...subjectsIn(metadata["subject"]),
  ...namespace.filter((_, index) => OWNING.has(namespace[index - 1] ?? "")),
];
