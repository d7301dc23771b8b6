import { SEALED_ITEM } from "../driver/unopened.ts";
import { StateError } from "../errors.ts";
import { Sweep } from "../state/people/erasing.ts";
import { decodeText, encodeText } from "../state/values/codec.ts";
import { ownersOf, readableId } from "../store/driver/namespaces.ts";
import type { ItemId, ItemWords, StoredItem } from "../store/driver/store-driver.ts";
import { combinedKey, keyOfBox, type NamedKey, openBox, placeBytes, sealBox } from "./keys/box.ts";
import type { KeysById, PersonKey } from "./keys/keyring.ts";
import { type Parted, parted, restored } from "./parts/parted-text.ts";

/**
 * How an item lies in the store below once it is sealed: its value is one sealed
 * value, and it has no metadata and no fields there.
 *
 *   {"$":"sealed","k":"is1.KEY","v":"BOX"}   in the box: { v: value, m: metadata, x: words, w: whose, p: [[keys, box], …] }
 *
 * An item that is about people as a whole has neither value nor metadata in the
 * box, and both in one that needs their keys. What is about others is taken out of
 * either, as in records.
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
  /** Whose the whole item is: [keys, box of { v, m, x }], which are not beside it then. */
  readonly w?: readonly [readonly string[], string];
  /** Parts of the value and of the metadata, and the words of all of it. */
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
  sweepOf(note).value(held, "metadata");
  return { owners: [...new Set(ownersOf(namespace, held))], named: [...named] };
}

type Fields = Readonly<Record<string, unknown>>;

const sweepOf = (matches: (subject: string) => boolean): Sweep => new Sweep({ matches });

/** The keys of those people. */
export interface ItemKeys {
  readonly owners: readonly PersonKey[];
  readonly named: readonly PersonKey[];
}

/** The text that is stored in the place of the value. */
export function sealedItem(
  id: ItemId,
  texts: ItemTexts,
  { tenant, key, owners, named }: ItemKeys & { readonly tenant: string; readonly key: NamedKey },
): string {
  const at = itemPlace(tenant, id);
  const others = named.filter(({ subject }) => !owners.some((owner) => owner.subject === subject));
  const { p, ...rest } = inParts(texts, owners, others, at);
  const whole = owners.length === 0 ? rest : { w: [idsOf(owners), sealFor(owners, rest, at)] };
  const content = p === undefined ? whole : { ...whole, p };
  const box = sealBox(key.key, Buffer.from(JSON.stringify(content), "utf8"), at);
  return `${SEALED_ITEM}${key.id}","v":"${box.toString("base64")}"}`;
}

/**
 * The rest of an item without the people who are named in it, and what is about them: that is about its owners,
 * too.
 */
function inParts(
  { value, metadata, words }: ItemTexts,
  owners: readonly PersonKey[],
  named: readonly PersonKey[],
  at: Buffer,
): ItemContent {
  if (named.length === 0) {
    return { v: value, ...(metadata !== undefined && { m: metadata }), ...(words !== undefined && { x: words }) };
  }
  const ofPeople = (whole: string): Parted =>
    parted(
      whole,
      named.map(({ subject }) => subject),
      (person, text) =>
        encodeText(sweepOf((subject) => subject === person).value(decodeText(text, "item"), "item"), "item"),
    );
  const boxFor = (keys: readonly PersonKey[], content: object) => {
    const all = [...owners, ...keys];
    return [idsOf(all), sealFor(all, content, at)] as const;
  };
  const boxesOf = ({ parts }: Parted, of: { readonly of?: "metadata" }) =>
    parts.map(({ path, value: part, keys }) =>
      boxFor(
        named.filter(({ subject }) => keys.includes(subject)),
        { path, part, ...of },
      ),
    );
  const inValue = ofPeople(value);
  const inMetadata = metadata === undefined ? undefined : ofPeople(metadata);
  return {
    v: inValue.erased,
    ...(inMetadata !== undefined && { m: inMetadata.erased }),
    p: [
      ...boxesOf(inValue, {}),
      ...(inMetadata === undefined ? [] : boxesOf(inMetadata, { of: "metadata" })),
      ...(words === undefined ? [] : [boxFor(named, { words })]),
    ],
  };
}

const idsOf = (keys: readonly NamedKey[]): readonly string[] => keys.map(({ id }) => id);

const sealFor = (keys: readonly NamedKey[], content: object, at: Buffer): string =>
  sealBox(combinedKey(keys), Buffer.from(JSON.stringify(content), "utf8"), at).toString("base64url");

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
export function openedItem({ item, content, at }: PeekedItem, keys: KeysById): OpenedItem | undefined {
  const opened = (ids: readonly string[], box: string): OpenedPart | undefined => {
    const own = keyOfBox(ids, keys);
    if (own === undefined) return undefined;
    const plain = openBox(own, Buffer.from(box, "base64url"), at);
    if (plain === undefined) throw changed(item);
    return JSON.parse(plain.toString("utf8")) as OpenedPart;
  };
  const whole = content.w === undefined ? content : opened(...content.w);
  if (whole === undefined) return undefined;
  const found = (content.p ?? []).flatMap(([ids, box]) => opened(ids, box) ?? []);
  const partsOf = (wanted: OpenedPart["of"]) =>
    found.flatMap(({ path, part, of }) => (path === undefined || of !== wanted ? [] : [{ path, value: part }]));
  const words = whole.x ?? found.find((each) => each.words !== undefined)?.words;
  const value = restored(whole.v ?? "null", partsOf(undefined));
  const metadata = whole.m === undefined ? undefined : restored(whole.m, partsOf("metadata"));
  return { item: { ...item, value, metadata }, words };
}

/** What is in a box that needs people's keys: a whole item, a part of its value, or its words. */
interface OpenedPart extends Pick<ItemContent, "v" | "m" | "x"> {
  readonly path?: readonly (string | number)[] | null;
  readonly part?: unknown;
  /** Absent of a part of the value. */
  readonly of?: "metadata";
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
    `${readableId(item)} is not sealed, and only sealed items are read here: it was written by a program without the key, or before sealing was switched on`,
    { item: readableId(item) },
  );
