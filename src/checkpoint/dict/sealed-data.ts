import { StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import type { DictData } from "./dict-storage.ts";
import { DOCUMENT_FORMAT } from "./layout.ts";

/** What the storage is given: the content, where it belongs, and a checksum of both. */
export function sealData(key: string, content: object): DictData {
  const sealed = { format: DOCUMENT_FORMAT, key, content } as unknown as DictData;
  return { ...sealed, sum: sumOf(key, content) };
}

/**
 * The content of what the storage returned; `undefined` if it had nothing. Extra
 * fields, which some storages add, are ignored.
 */
export function openData(key: string, data: object | undefined | null): object | undefined {
  if (data === undefined || data === null) return undefined;
  if (typeof data !== "object" || Array.isArray(data)) throw damaged(key, "is not the object that was saved");
  const { format, key: ownKey, content, sum } = data as Readonly<Record<string, unknown>>;
  if (typeof format !== "number") throw damaged(key, "was not written by holdfast, or is damaged");
  if (format > DOCUMENT_FORMAT) throw tooNew(key, format);
  if (ownKey !== key) throw damaged(key, `holds what belongs under ${JSON.stringify(ownKey)}`);
  if (typeof content !== "object" || content === null || sum !== sumOf(key, content)) {
    throw damaged(key, "does not match its checksum: the stored data was damaged or changed by hand");
  }
  return content;
}

const sumOf = (key: string, content: object): string =>
  nodeCrypto()
    .createHash("sha256")
    .update(JSON.stringify([DOCUMENT_FORMAT, key, inOrder(content)]))
    .digest("base64url")
    .slice(0, 22);

/** Storages may return the keys of an object in another order. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, inOrder((value as Record<string, unknown>)[name])]));
}

/** Names the key, because the storage's owner has to look there. */
export const damaged = (key: string, fault: string): StateError =>
  new StateError("CORRUPT", `the storage's key ${JSON.stringify(key)} ${fault}`, { location: key });

const tooNew = (key: string, format: number): StateError =>
  new StateError(
    "INCOMPATIBLE",
    `the storage's key ${JSON.stringify(key)} was written in format v${format}; this build reads up to v${DOCUMENT_FORMAT}. Upgrade holdfast to read it`,
    { location: key },
  );
