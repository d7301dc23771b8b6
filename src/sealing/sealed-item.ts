import { SEALED_ITEM } from "../driver/unopened.ts";
import { StateError } from "../errors.ts";
import { decodeText, encodeText } from "../state/codec.ts";
import { Sweep } from "../state/erasing.ts";
import { readableId } from "../store/namespaces.ts";
import { ownersOf } from "../store/owners.ts";
import type { ItemId, ItemWords, StoredItem } from "../store/store-driver.ts";
import { combinedKey, openBox, placeBytes, sealBox } from "./box.ts";
import type { NamedKey } from "./keyring.ts";
import { type Parted, parted, restored } from "./parted-text.ts";

/**
 * How an item lies in the store below once it is sealed: its value is one sealed
 * value, and it has no metadata and no fields there.
 *
 *   {"$":"sealed","k":"is1.KEY","v":"BOX"}   in the box: { v: value, m: metadata, x: words, w: whose, p: [[keys, box], …] }
 *
 * An item that is about people as a whole has neither value nor metadata in the
 * box, and both in one that needs their keys. Of any other, what is about people
 * is taken out, as in records.
 */

/** Who an item is about as a whole, and who is named in it. */
export interface ItemPeople {
  readonly owners: readonly string[];
  readonly named: readonly string[];
}

interface ItemContent {
  readonly v?: string;
  readonly m?: string;
  readonly x?: ItemWords;
  /** Whose the whole item is: [keys, box of { v, m, x }]. */
  readonly w?: readonly [readonly string[], string];
  /** Parts of the value, and the words of all of it. */
  readonly p?: readonly (readonly [readonly string[], string])[];
}

const SEALED = /^\{"\$":"sealed","k":"is1\.([^."]+)","v":"([\w+/=]+)"\}$/;

export interface ItemTexts {
  readonly value: string;
  readonly metadata: string | undefined;
  readonly words: ItemWords | undefined;
}

/** An item as it was, and the words by which it is found. */
export interface OpenedItem {
  readonly item: StoredItem;
  readonly words: ItemWords | undefined;
}

export function peopleOfItem({ namespace }: ItemId, { value, metadata }: ItemTexts): ItemPeople {
  const held = metadata === undefined ? {} : (decodeText(metadata, "metadata") as Fields);
  const named = new Set<string>();
  const note = (subject: string): boolean => {
    named.add(subject);
    return false;
  };
  if (value.includes("holdfast:subject")) sweepOf(note).value(decodeText(value, "value"), "value");
  return { owners: [...new Set(ownersOf(namespace, held))], named: [...named] };
}

type Fields = Readonly<Record<string, unknown>>;

const sweepOf = (matches: (subject: string) => boolean): Sweep =>
  new Sweep({ matches, isThreadMatched: false, keepsThreadSubject: true, calls: new Set() });

/** The text that is stored in the place of the value. `keyOf`: the key of each person. */
export function sealedItem(
  id: ItemId,
  texts: ItemTexts,
  {
    tenant,
    key,
    people,
    keyOf,
  }: { tenant: string; key: NamedKey; people: ItemPeople; keyOf: ReadonlyMap<string, NamedKey> },
): string {
  const at = itemPlace(tenant, id);
  const content = people.owners.length > 0 ? owned(texts, people.owners, keyOf, at) : inParts(texts, people, keyOf, at);
  const box = sealBox(key.key, Buffer.from(JSON.stringify(content), "utf8"), at);
  return `${SEALED_ITEM}${key.id}","v":"${box.toString("base64")}"}`;
}

function owned(
  { value, metadata, words }: ItemTexts,
  owners: readonly string[],
  keyOf: ReadonlyMap<string, NamedKey>,
  at: Buffer,
): ItemContent {
  const keys = owners.flatMap((owner) => keyOf.get(owner) ?? []);
  return { w: [idsOf(keys), sealFor(keys, { v: value, m: metadata, x: words }, at)] };
}

function inParts(
  { value, metadata, words }: ItemTexts,
  { named }: ItemPeople,
  keyOf: ReadonlyMap<string, NamedKey>,
  at: Buffer,
): ItemContent {
  const rest = metadata === undefined ? {} : { m: metadata };
  if (named.length === 0) return { v: value, ...rest, ...(words !== undefined && { x: words }) };
  const nameOf = new Map(named.map((subject) => [subject, keyOf.get(subject)?.id]));
  const byId = new Map(named.flatMap((subject) => keyOf.get(subject) ?? []).map((each) => [each.id, each]));
  const { erased, parts }: Parted = parted(value, [...byId.keys()], (id, text) =>
    encodeText(sweepOf((subject) => nameOf.get(subject) === id).value(decodeText(text, "value"), "value"), "value"),
  );
  const boxes = parts.map(({ path, value: part, keys }) => {
    const own = keys.flatMap((id) => byId.get(id) ?? []);
    return [idsOf(own), sealFor(own, { path, part }, at)] as const;
  });
  const everybody = [...byId.values()];
  const found = words === undefined ? [] : [[idsOf(everybody), sealFor(everybody, { words }, at)] as const];
  return { v: erased, ...rest, p: [...boxes, ...found] };
}

const idsOf = (keys: readonly NamedKey[]): readonly string[] => keys.map(({ id }) => id);

const sealFor = (keys: readonly NamedKey[], content: object, at: Buffer): string =>
  sealBox(combinedKey(keys.map(({ key }) => key)), Buffer.from(JSON.stringify(content), "utf8"), at).toString(
    "base64url",
  );

/** An item whose box was opened, but not yet what is people's in it. */
export interface PeekedItem {
  readonly item: StoredItem;
  readonly content: ItemContent;
  readonly at: Buffer;
}

/** The name of the key that it was sealed with; `undefined` for one in plain. */
export const keyOfItem = ({ value }: StoredItem): string | undefined => SEALED.exec(value)?.[1];

export function peekItem(
  item: StoredItem,
  tenant: string,
  key: NamedKey | undefined,
  missing: (id: string) => StateError,
): PeekedItem {
  const [, id = "", box = ""] = SEALED.exec(item.value) ?? [];
  if (id === "") throw notSealed(item);
  if (key === undefined) throw missing(id);
  const at = itemPlace(tenant, item);
  const bytes = Buffer.from(box, "base64");
  if (id !== key.id) throw otherKey(item, id, key);
  const isOurs = bytes.toString("base64") === box && item.metadata === undefined;
  const plain = isOurs ? openBox(key.key, bytes, at) : undefined;
  if (plain === undefined) throw changed(item);
  return { item, content: JSON.parse(plain.toString("utf8")) as ItemContent, at };
}

export const keysOfItem = ({ content: { w, p = [] } }: PeekedItem): readonly string[] => [
  ...(w?.[0] ?? []),
  ...p.flatMap(([ids]) => ids),
];

/** The original item; `undefined` if it was about a person whose key is gone. */
export function openedItem(
  { item, content, at }: PeekedItem,
  keys: ReadonlyMap<string, Uint8Array | undefined>,
): OpenedItem | undefined {
  const opened = (ids: readonly string[], box: string): OpenedPart | undefined => {
    const own = ids.flatMap((id) => keys.get(id) ?? []);
    if (own.length < ids.length) return undefined;
    const plain = openBox(combinedKey(own), Buffer.from(box, "base64url"), at);
    if (plain === undefined) throw changed(item);
    return JSON.parse(plain.toString("utf8")) as OpenedPart;
  };
  if (content.w !== undefined) {
    const whole = opened(...content.w);
    return whole && { item: { ...item, value: whole.v ?? "null", metadata: whole.m }, words: whole.x };
  }
  const found = (content.p ?? []).flatMap(([ids, box]) => opened(ids, box) ?? []);
  const parts = found.flatMap(({ path, part }) => (path === undefined ? [] : [{ path, value: part }]));
  const words = content.x ?? found.find((each) => each.words !== undefined)?.words;
  return { item: { ...item, value: restored(content.v ?? "null", parts), metadata: content.m }, words };
}

/** What is in a box that needs people's keys: a whole item, a part of its value, or its words. */
interface OpenedPart extends Pick<ItemContent, "v" | "m" | "x"> {
  readonly path?: readonly (string | number)[] | null;
  readonly part?: unknown;
  readonly words?: ItemWords;
}

const itemPlace = (tenant: string, { namespace, key }: ItemId): Buffer =>
  placeBytes(["item 1", tenant, namespace, key]);

const changed = (item: ItemId): StateError =>
  new StateError(
    "CORRUPT",
    `${readableId(item)} does not open in its place: it was damaged, changed, or moved there from elsewhere`,
    {
      item: readableId(item),
    },
  );

const otherKey = (item: ItemId, id: string, key: NamedKey): StateError =>
  new StateError(
    "CORRUPT",
    `${readableId(item)} names the key ${id}, and its tenant's is ${key.id}: it was changed, moved there from elsewhere, or the store of the keys is not the one that belongs to this data`,
    { item: readableId(item) },
  );

const notSealed = (item: ItemId): StateError =>
  new StateError(
    "CORRUPT",
    `${readableId(item)} is not sealed, and only sealed items are read here: somebody without the key wrote it, or it is from before the sealing`,
    { item: readableId(item) },
  );
