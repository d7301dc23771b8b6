import type { LogEntry, LogRecord } from "../checkpoint/log/thread-log.ts";
import { openHeader, SUM_LENGTH, withChecksum } from "../checkpoint/record/record.ts";
import { SEALED_HEADER } from "../driver/unopened.ts";
import type { StateError } from "../errors.ts";
import {
  combinedKey,
  HEAD_BYTES,
  keyOfBox,
  type NamedKey,
  newRandomness,
  openBox,
  sealBox,
  sealInto,
} from "./keys/box.ts";
import type { KeysById } from "./keys/keyring.ts";
import { type PersonalPart, restored } from "./parts/parted-text.ts";
import { NO_PEOPLE, type ThreadPeople } from "./parts/thread-people.ts";
import {
  bodyPlace,
  changed,
  headerPlace,
  newerFormat,
  notSealed,
  otherKey,
  partPlace,
  type SealedPlace,
} from "./sealed-places.ts";
import { isSealed, MAGIC, MAGIC_BYTES, WORDS_BEGIN, wordsBytes } from "./words-beside.ts";

/**
 * How a record lies in the log below once it is sealed. What a driver needs to
 * find it stays as it is (positions, names, the write id) and is bound to it.
 *
 *   header   hs1.KEY.BOX     the header, the metadata, who the thread is about
 *   metadata                 empty; or those that are not about people, if the index is plain
 *   body     "HFS1" · length · words · BOX · boxes of people
 *
 * The box of a header belongs to its tenant, thread, position and names, and holds
 * the thread's generation; those of a body belong to that very header. What is
 * about people is taken out of both and sealed with their keys: what stays in its
 * place is what an erasure would leave.
 */

/** A part that is sealed with these keys. They are in hand: what only names a key may find it gone. */
export interface KeyedPart extends Omit<PersonalPart, "keys"> {
  readonly keys: readonly NamedKey[];
}

/** What is sealed with people's keys, and with which. */
export interface Personal {
  /** `wholeOf`: all of it is sealed with these, and not taken apart. */
  readonly body: {
    readonly erased: Uint8Array;
    readonly parts: readonly KeyedPart[];
    readonly wholeOf?: readonly NamedKey[];
  };
  readonly metadata: { readonly erased: string; readonly parts: readonly KeyedPart[] } | undefined;
  /** Only of what is not about people: an index never holds personal data. */
  readonly words: string | undefined;
}

export interface SealingOf {
  readonly place: SealedPlace;
  readonly generation: string;
  readonly key: NamedKey;
  /** Metadata and words lie in plain beside what is sealed. */
  readonly isIndexPlain: boolean;
}

/** How a header ends that a checkpointer made: with the checksum between these two. */
const SUM_BEGINS = ',"sum":"';
const SUM_ENDS = '"}';
const HEADER = /^hs1\.([^.]+)\.([\w-]+)$/;
const NEWER = /^hs(?!1\.)\d{1,9}\./;
const NO_WORDS = Buffer.alloc(0);

/** An entry whose header was opened, but not yet what is people's in it. */
export interface PeekedEntry {
  readonly entry: LogEntry;
  /** The box of the header, as it is stored. */
  readonly box: Buffer;
  readonly content: HeaderContent;
  readonly people: ThreadPeople;
}

/** The key that the entries of a tenant are sealed with, or what to throw where there is none. */
export interface TenantKey {
  readonly key: NamedKey | undefined;
  readonly missing: (id: string) => StateError;
}

export function sealedRecord(
  record: LogRecord,
  { place, generation, key, isIndexPlain }: SealingOf,
  people: ThreadPeople,
  personal: Personal | undefined,
): LogRecord {
  const whole = personal?.metadata?.erased ?? record.metadata;
  const metadata = isIndexPlain ? whole : undefined;
  const at = headerPlace(place, record, metadata);
  const random = newRandomness();
  const boxes = personal === undefined ? NO_BOXES : boxesOf(personal.body, record.body);
  const sumAt = personal === undefined ? -1 : checksumAt(record.header);
  const h = sumAt < 0 ? record.header : `${record.header.slice(0, sumAt)}}`;
  const p = personal && [...headerParts(record.header, sumAt, personal, at, random), ...boxes.map(lengthOf)];
  const text = headerText({ g: generation, h, m: isIndexPlain ? undefined : whole, p }, people);
  const box = sealBox(key.key, Buffer.from(text, "utf8"), Buffer.from(at, "utf8"), random);
  const words = isIndexPlain ? (personal ?? record).words : undefined;
  const wordBytes = words === undefined ? NO_WORDS : Buffer.from(words, "utf8");
  const plain = personal?.body.erased ?? record.body;
  const begin = WORDS_BEGIN + wordBytes.byteLength;
  let length = begin + HEAD_BYTES + plain.byteLength;
  for (const each of boxes) length += HEAD_BYTES + each.plain.byteLength;
  const body = Buffer.allocUnsafe(length);
  body.writeUInt32BE(MAGIC);
  body.writeUInt32BE(wordBytes.byteLength, MAGIC_BYTES);
  body.set(wordBytes, WORDS_BEGIN);
  const behind = begin + HEAD_BYTES + plain.byteLength;
  let end = behind;
  for (const { kind, keys, plain: own } of boxes) {
    end = sealInto(body, end, combinedKey(keys), own, partPlace(kind, idsOf(keys), box), random);
  }
  sealInto(body, begin, key.key, plain, bodyPlace(box, wordBytes, body.subarray(behind)), random);
  const { seq, writeId, base, head, checkpointId, names } = record;
  const header = `${SEALED_HEADER}${key.id}.${box.toString("base64url")}`;
  const sealed = { seq, writeId, base, head, checkpointId, metadata, header, body, words };
  return names === undefined ? sealed : { ...sealed, names };
}

/** The content of a box that needs the keys of these people. */
interface PlainBox {
  readonly kind: BodyPart[0];
  readonly keys: readonly NamedKey[];
  readonly plain: Uint8Array;
}

const NO_BOXES: readonly PlainBox[] = [];

const idsOf = (keys: readonly NamedKey[]): readonly string[] => keys.map(({ id }) => id);

const lengthOf = ({ kind, keys, plain }: PlainBox): BodyPart => [kind, idsOf(keys), HEAD_BYTES + plain.byteLength];

const boxesOf = ({ parts, wholeOf }: Personal["body"], body: Uint8Array): readonly PlainBox[] =>
  wholeOf === undefined
    ? grouped(parts).map(({ keys, plain }) => ({ kind: "b", keys, plain }))
    : [{ kind: "w", keys: inOrder(wholeOf), plain: body }];

function headerParts(
  header: string,
  sumAt: number,
  { body, metadata }: Personal,
  at: string,
  random: Uint8Array,
): readonly HeaderPart[] {
  const all = [...body.parts, ...(metadata?.parts ?? [])].flatMap((part) => part.keys);
  const taken = sumAt < 0 ? header : header.slice(sumAt + SUM_BEGINS.length, -SUM_ENDS.length);
  const boxFor = (kind: "s" | "h" | "m", keys: readonly NamedKey[], plain: Buffer): HeaderPart => {
    const ids = idsOf(keys);
    return [kind, ids, sealBox(combinedKey(keys), plain, partPlace(kind, ids, at), random).toString("base64url")];
  };
  return [
    boxFor(sumAt < 0 ? "h" : "s", inOrder(all.concat(body.wholeOf ?? [])), Buffer.from(taken, "utf8")),
    ...grouped(metadata?.parts ?? []).map(({ keys, plain }) => boxFor("m", keys, plain)),
  ];
}

/** Each of them once. */
const inOrder = (keys: readonly NamedKey[]): readonly NamedKey[] =>
  [...new Map(keys.map((key) => [key.id, key])).values()].sort((one, other) => (one.id < other.id ? -1 : 1));

/** Parts that need the same keys go into one box. */
function grouped(all: readonly KeyedPart[]): readonly { readonly keys: readonly NamedKey[]; readonly plain: Buffer }[] {
  const groups = new Map<string, { readonly keys: readonly NamedKey[]; readonly parts: unknown[] }>();
  for (const { path, value, at, keys } of all) {
    const ordered = inOrder(keys);
    const name = idsOf(ordered).join(" ");
    const group = groups.get(name) ?? { keys: ordered, parts: [] };
    group.parts.push(at === undefined ? [path, value] : [path, value, at]);
    groups.set(name, group);
  }
  return [...groups.values()].map(({ keys, parts }) => ({ keys, plain: Buffer.from(JSON.stringify(parts), "utf8") }));
}

/** Where the checksum begins, or -1. It tells whether a guess of what was erased is right, so it goes with it. */
function checksumAt(header: string): number {
  const at = header.length - SUM_BEGINS.length - SUM_LENGTH - SUM_ENDS.length;
  return at >= 0 && header.startsWith(SUM_BEGINS, at) && header.endsWith(SUM_ENDS) ? at : -1;
}

const withThatChecksum = (header: string, sum: string): string =>
  `${header.slice(0, -1)}${SUM_BEGINS}${sum}${SUM_ENDS}`;

/** The name of the key that a header was sealed with; `undefined` for one in plain. */
export const keyOfHeader = ({ header }: LogEntry): string | undefined => HEADER.exec(header)?.[1];

/** Opens the header. Whatever is not what was sealed for this place is refused. */
export function peek(entry: LogEntry, place: SealedPlace, { key, missing }: TenantKey): PeekedEntry {
  const [, id = "", text = ""] = HEADER.exec(entry.header) ?? [];
  if (id === "") throw NEWER.test(entry.header) ? newerFormat(place, entry) : notSealed(place, entry);
  if (key === undefined) throw missing(id);
  if (id !== key.id) throw otherKey(place, entry, id, key);
  const box = Buffer.from(text, "base64url");
  const at = Buffer.from(headerPlace(place, entry, entry.metadata), "utf8");
  // The last character has bits that mean nothing: only one way of writing them is ours.
  const plain = box.toString("base64url") === text ? openBox(key.key, box, at) : undefined;
  if (plain === undefined) throw changed(place, entry);
  const content = headerContent(plain.toString("utf8"));
  return { entry, box, content, people: peopleIn(content) };
}

/** The keys of people that an entry needs. */
export const keysNeededBy = ({ content }: PeekedEntry): readonly string[] =>
  content.p === undefined ? NO_KEYS : content.p.flatMap(([, ids]) => ids);

const NO_KEYS: readonly string[] = [];

/** The entry as it was before it was sealed; where a key is gone, with what stands in its place. */
export function openedEntry({ entry, content }: PeekedEntry, place: SealedPlace, keys: KeysById): LogEntry {
  let header = content.h;
  const parts: Omit<PersonalPart, "keys">[] = [];
  for (const part of content.p ?? []) {
    const own = isBodyPart(part) ? undefined : keyOfBox(part[1], keys);
    if (isBodyPart(part) || own === undefined) continue;
    const [kind, ids, text] = part;
    const at = partPlace(kind, ids, headerPlace(place, entry, entry.metadata));
    const plain = openBox(own, Buffer.from(text, "base64url"), at);
    if (plain === undefined) throw changed(place, entry);
    if (kind === "s") header = withThatChecksum(content.h, plain.toString("utf8"));
    else if (kind === "h") header = plain.toString("utf8");
    else parts.push(...partsIn(plain));
  }
  const given = content.m ?? entry.metadata;
  const metadata = given === undefined ? undefined : restored(given, parts);
  const { seq, writeId, base, head, checkpointId, names } = entry;
  return { seq, writeId, base, head, checkpointId, ...(names !== undefined && { names }), header, metadata };
}

const partsIn = (plain: Buffer): readonly Omit<PersonalPart, "keys">[] =>
  (JSON.parse(plain.toString("utf8")) as [PersonalPart["path"], unknown, number?][]).map(([path, value, at]) =>
    at === undefined ? { path, value } : { path, value, at },
  );

/** The record as it was before it was sealed; where a key is gone, as an erasure leaves it. */
export function openedRecord(
  record: LogRecord,
  peeked: PeekedEntry,
  place: SealedPlace,
  generation: string,
  { key, missing }: TenantKey,
  keys: KeysById,
): LogRecord {
  if (key === undefined) throw missing("of the tenant");
  const { content, box: headerBox } = peeked;
  if (content.g !== generation) throw changed(place, record);
  const stored = Buffer.from(record.body.buffer, record.body.byteOffset, record.body.byteLength);
  if (!isSealed(stored)) throw notSealed(place, record);
  const words = wordsBytes(stored);
  if (words === undefined) throw changed(place, record);
  const personal = content.p?.filter(isBodyPart) ?? [];
  const end = personal.reduce((from, [, , length]) => from - length, stored.byteLength);
  if (end < WORDS_BEGIN + words.byteLength) throw changed(place, record);
  const box = stored.subarray(WORDS_BEGIN + words.byteLength, end);
  const plain = openBox(key.key, box, bodyPlace(headerBox, words, stored.subarray(end)));
  if (plain === undefined) throw changed(place, record);
  const own = { ...openedEntry(peeked, place, keys), words: words.toString("utf8") || undefined };
  if (content.p === undefined) return { ...own, body: plain };
  const { body, isWhole } = bodyFrom(plain, stored.subarray(end), personal, keys, headerBox, () =>
    changed(place, record),
  );
  const opened = { ...own, body };
  return isWhole && own.header !== content.h ? opened : withNewChecksum(opened);
}

/** Joins the body without people and their boxes. */
function bodyFrom(
  erased: Buffer,
  boxes: Buffer,
  personal: readonly BodyPart[],
  keys: KeysById,
  headerBox: Buffer,
  fault: () => StateError,
): { readonly body: Uint8Array; readonly isWhole: boolean } {
  let from = 0;
  let isWhole = true;
  const parts: Omit<PersonalPart, "keys">[] = [];
  for (const [kind, ids, length] of personal) {
    const box = boxes.subarray(from, from + length);
    from += length;
    const own = keyOfBox(ids, keys);
    if (own === undefined) {
      isWhole = false;
      continue;
    }
    const opened = openBox(own, box, partPlace(kind, ids, headerBox));
    if (opened === undefined) throw fault();
    if (kind === "w") return { body: opened, isWhole };
    parts.push(...partsIn(opened));
  }
  return { body: parts.length === 0 ? erased : Buffer.from(restored(erased.toString("utf8"), parts), "utf8"), isWhole };
}

/** What is left has another checksum than what was there. That it is ours was proven by its boxes. */
export function withNewChecksum(record: LogRecord): LogRecord {
  const { format: _, bodyBytes: _bytes, ...fields } = openHeader(record);
  return withChecksum({ ...record, fields });
}

/**
 * What is in the box of a header, as text: the lengths of the generation and of the
 * header, both of them, and the rest as JSON if there is any. Most records have
 * nothing else, and a header is JSON already: it is not quoted once more.
 */

/** Short names, because every record pays for them. */
interface HeaderContent {
  /** The generation of the thread. */
  readonly g: string;
  /** The header; without its checksum, where there are parts. */
  readonly h: string;
  /** The metadata, or what stands in their place. */
  readonly m?: string | undefined;
  /** Of people: which keys are needed for what. */
  readonly p?: readonly HeaderPart[] | undefined;
  readonly d?: ThreadPeople["defaults"];
  readonly n?: ThreadPeople["named"];
  readonly c?: ThreadPeople["calls"];
  /** 1 where no index may hold what follows in the thread. */
  readonly u?: 1;
  /** The lowest position that may hold a record. */
  readonly f?: number;
}

/**
 * The keys, and a box: `"s"` of the checksum of the header, `"h"` of all of a header
 * that has no such end, `"m"` of parts of the metadata. Or how many bytes a box behind
 * the body has: `"w"` the one of the whole body, `"b"` that of parts of it.
 */
export type HeaderPart = readonly ["s" | "h" | "m", readonly string[], string] | BodyPart;

export type BodyPart = readonly ["b" | "w", readonly string[], number];

export const isBodyPart = (part: HeaderPart): part is BodyPart => part[0] === "b" || part[0] === "w";

function headerText({ g, h, m, p }: HeaderContent, people: ThreadPeople): string {
  const text = `${g.length} ${h.length} ${g}${h}`;
  const { defaults, named, calls, isUnlisted, floor } = people;
  const areNamed = people !== NO_PEOPLE && defaults.length + named.length + Object.keys(calls).length > 0;
  if (m === undefined && p === undefined && !areNamed && !isUnlisted && floor === undefined) return text;
  const whose = areNamed && { d: defaults, n: named, c: calls };
  return text + JSON.stringify({ m, p, ...whose, ...(isUnlisted && { u: 1 }), f: floor });
}

/** Who the thread is about, as of that header. */
export function peopleIn({ d, n, c, u, f }: HeaderContent): ThreadPeople {
  if ([d, n, c, u, f].every((each) => each === undefined)) return NO_PEOPLE;
  return {
    defaults: d ?? [],
    named: n ?? [],
    calls: c ?? {},
    ...(u === 1 && { isUnlisted: true }),
    ...(f !== undefined && { floor: f }),
  };
}

/** The content of a text that was proven to be ours. */
function headerContent(text: string): HeaderContent {
  const [first, second] = [text.indexOf(" "), text.indexOf(" ", text.indexOf(" ") + 1)];
  const generationEnd = second + 1 + Number(text.slice(0, first));
  const headerEnd = generationEnd + Number(text.slice(first + 1, second));
  const rest = headerEnd === text.length ? {} : (JSON.parse(text.slice(headerEnd)) as Partial<HeaderContent>);
  return { ...rest, g: text.slice(second + 1, generationEnd), h: text.slice(generationEnd, headerEnd) };
}
