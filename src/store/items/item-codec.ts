import { isPlainObject } from "../../driver/options.ts";
import { whyUnopened } from "../../driver/unopened.ts";
import { Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import { decodeText, encodeValue, type JsonValue } from "../../state/values/codec.ts";
import { readableId } from "../driver/namespaces.ts";
import type { RankedItem, StoredItem } from "../driver/store-driver.ts";
import { projectFields } from "../search/item-fields.ts";
import type { StoreHit, StoreItem } from "./items.ts";

/** A value and its metadata on their way into a storage. */
export interface EncodedItem {
  readonly value: string;
  readonly metadata: string | undefined;
  readonly fields: { readonly value: string; readonly metadata: string };
}

export function encodeItem(value: unknown, metadata: unknown): EncodedItem {
  if (value === undefined) {
    throw invalid("value", "the value is undefined, which means that there is none; store null, or delete the item");
  }
  if (metadata !== undefined && !isPlainObject(metadata)) throw invalid("metadata", "metadata must be a plain object");
  const encoded = encodeValue(value, "value");
  const encodedMetadata: JsonValue = metadata === undefined ? {} : encodeValue(metadata, "metadata");
  return {
    value: JSON.stringify(encoded),
    metadata: metadata === undefined ? undefined : JSON.stringify(encodedMetadata),
    fields: {
      value: JSON.stringify(projectFields(encoded)),
      metadata: JSON.stringify(projectFields(encodedMetadata)),
    },
  };
}

const NO_METADATA: Readonly<Record<string, unknown>> = Object.freeze({});

export function decodeItem<Value>(item: StoredItem): StoreItem<Value> {
  const { namespace, key, version, createdAt, updatedAt, expiresAt } = item;
  const of = ` of ${readableId(item)}`;
  const unopened = whyUnopened(item.value, `the item ${readableId(item)}`);
  if (unopened !== undefined) throw unopened;
  const metadata = item.metadata === undefined ? NO_METADATA : decodeText(item.metadata, `metadata${of}`);
  return {
    namespace,
    key,
    value: decodeText(item.value, `value${of}`) as Value,
    metadata: metadata as Readonly<Record<string, unknown>>,
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
    version,
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
  };
}

export const decodeHit = <Value>({ item, score }: RankedItem): StoreHit<Value> => ({
  ...decodeItem<Value>(item),
  score,
});

/**
 * Decodes several. A damaged one must not affect the others: it is left out and noted; `ifNone`: the warning
 * when there was none to decode.
 */
export async function decodeSome<Given, Decoded>(
  given: readonly Given[],
  decode: (one: Given) => Decoded,
  ifNone?: () => Promise<StateError | undefined>,
): Promise<{ readonly items: readonly Decoded[]; readonly warnings: Warnings["list"] }> {
  const warnings = new Warnings();
  const items: Decoded[] = [];
  for (const one of given) {
    const decoded = await warnings.skipping(undefined, () => ({ item: decode(one) }));
    if (decoded !== undefined) items.push(decoded.item);
  }
  const unseen = given.length === 0 ? await ifNone?.() : undefined;
  if (unseen !== undefined) warnings.note(unseen, undefined);
  return { items, warnings: warnings.list };
}

/** How much of the storage's limit an item takes. */
export const bytesOf = ({ value, metadata = "" }: EncodedItem): number =>
  Buffer.byteLength(value) + Buffer.byteLength(metadata);

const invalid = (path: string, message: string): StateError => new StateError("INVALID_ARGUMENT", message, { path });
