import { nodeCrypto } from "../../internal/node-builtins.ts";
import { OBJECT_FORMAT } from "../bucket-log/layout.ts";
import { damaged, inlineLengths, packObject, tooNew, unpackObject } from "../bucket-log/stored-object.ts";
import type { DictData } from "./dict-storage.ts";

/**
 * An object of a bucket as the value of a dictionary: the same JSON, and the bodies behind it as texts, so that a person can
 * read them; with the key it belongs under, and a checksum that does not depend on the order of keys.
 */
export function dataOf(key: string, bytes: Buffer): DictData {
  const { content, bodies } = unpackObject(key, bytes);
  const stored = cut(bodies, inlineLengths(content)).map(storedBody);
  const value = { format: OBJECT_FORMAT, key, content, bodies: stored } as unknown as DictData;
  return { ...value, sum: sumOf(key, content, stored) };
}

/** Its checksum tells one value under a key from every other. */
export const versionOf = (value: DictData): string => String(value["sum"]);

/** The object of what a storage returned; `undefined` if it had nothing. Extra fields, which some storages add, are ignored. */
export function objectOf(
  key: string,
  value: object | undefined | null,
): { readonly bytes: Buffer; readonly version: string } | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw damaged(key, "is not the object that was saved");
  const { format, key: ownKey, content, bodies, sum } = value as Readonly<Record<string, unknown>>;
  if (typeof format !== "number") throw damaged(key, "was not written by holdfast, or is damaged");
  if (format > OBJECT_FORMAT) throw tooNew(key, format);
  if (ownKey !== key) throw damaged(key, `holds what belongs under ${JSON.stringify(ownKey)}`);
  if (
    typeof content !== "object" ||
    content === null ||
    !Array.isArray(bodies) ||
    sum !== sumOf(key, content, bodies)
  ) {
    throw damaged(key, "does not match its checksum: the stored data was damaged or changed by hand");
  }
  return { bytes: packObject(content, bodies.map(bodyOf)), version: sum };
}

/** Text stays text; other bytes become base64. NUL is valid text, but some databases refuse it. */
type StoredBody = string | { readonly base64: string };

export function storedBody(bytes: Buffer): StoredBody {
  const text = bytes.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(bytes) && !text.includes("\u0000");
  return isText ? text : { base64: bytes.toString("base64") };
}

export const bodyOf = (body: StoredBody): Buffer =>
  typeof body === "string" ? Buffer.from(body, "utf8") : Buffer.from(body.base64, "base64");

/** The bodies one by one. What has no length in the JSON is one that lies apart. */
function cut(bodies: Buffer, lengths: readonly number[]): readonly Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  for (const length of lengths) {
    found.push(bodies.subarray(at, at + length));
    at += length;
  }
  return at < bodies.byteLength ? [...found, bodies.subarray(at)] : found;
}

const sumOf = (key: string, content: object, bodies: readonly unknown[]): string =>
  nodeCrypto()
    .createHash("sha256")
    .update(JSON.stringify([OBJECT_FORMAT, key, inOrder(content), bodies]))
    .digest("base64url")
    .slice(0, 22);

/** Storages may return the keys of an object in another order. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, inOrder((value as Record<string, unknown>)[name])]));
}
