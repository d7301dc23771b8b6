import { openHeader, sealRecord } from "../checkpoint/record.ts";
import type { LogEntry, LogRecord } from "../checkpoint/thread-log.ts";
import type { StateError } from "../errors.ts";
import { combinedKey, newSalt, openBox, sealBox, sealPieces } from "./box.ts";
import type { NamedKey } from "./keyring.ts";
import { type Parted, type PersonalPart, restored } from "./personal-parts.ts";
import { bodyPlace, changed, headerPlace, notSealed, otherKey, partPlace, type SealedPlace } from "./sealed-places.ts";
import { NO_PEOPLE, type ThreadPeople } from "./thread-people.ts";

/**
 * How a record lies in the log below once it is sealed. What a driver needs to
 * find it stays as it is (positions, names, the write id) and is bound to it.
 *
 *   header   hs1.KEY.BOX     the header, the metadata, who the thread is about
 *   metadata                 empty; or those that are not about people, if the index is plain
 *   body     "HFS1" · length · words · BOX
 *
 * The box of a header belongs to its tenant, thread, position and names; that of
 * a body to its thread's generation, too, and to that very header. What is about
 * people is taken out of both and sealed with their keys, inside the box: what
 * stays in its place is what an erasure would leave.
 */

/** What is sealed with people's keys, and with which. */
export interface Personal {
  readonly body: Parted;
  readonly metadata: Parted | undefined;
  /** Only of what is not about people: an index never holds personal data. */
  readonly words: string | undefined;
  readonly keys: ReadonlyMap<string, Uint8Array>;
}

export interface SealingOf {
  readonly place: SealedPlace;
  readonly generation: string;
  readonly key: NamedKey;
  /** Metadata and words lie in plain beside what is sealed. */
  readonly isIndexPlain: boolean;
}

/** How a header ends that a checkpointer made. */
const CHECKSUM = /,"sum":"([\w-]{16})"\}$/;
const HEADER = /^hs1\.([^.]+)\.([\w-]+)$/;
const MAGIC = Buffer.from("HFS1");
const [WHOLE, IN_PARTS] = [0, 1];
const WHOLE_BEGINS = Buffer.of(WHOLE);

/** What is in the box of a header. Short names, because every record pays for them. */
interface HeaderContent {
  /** The generation of the thread. */
  readonly g: string;
  /** The header; without its checksum, where there are parts. */
  readonly h: string;
  /** The metadata, or what stands in their place. */
  readonly m?: string;
  /** Of people: which keys are needed, and the box. `"s"` holds the checksum of the header, `"h"` all of one that has no such end, `"m"` parts of the metadata. */
  readonly p?: readonly (readonly ["s" | "h" | "m", readonly string[], string])[];
  readonly d?: readonly string[];
  readonly c?: ThreadPeople["calls"];
}

/** An entry whose header was opened, but not yet what is people's in it. */
export interface PeekedEntry {
  readonly entry: LogEntry;
  readonly content: HeaderContent;
  readonly people: ThreadPeople;
}

/** The key that the entries of a tenant are sealed with, or what to throw where there is none. */
export interface TenantKey {
  readonly key: NamedKey | undefined;
  readonly missing: (id: string) => StateError;
}

type Keys = ReadonlyMap<string, Uint8Array | undefined>;

export function sealedRecord(
  record: LogRecord,
  { place, generation, key, isIndexPlain }: SealingOf,
  people: ThreadPeople,
  personal: Personal | undefined,
): LogRecord {
  const whole = personal?.metadata?.erased ?? record.metadata;
  const metadata = isIndexPlain ? whole : undefined;
  const headerAt = headerPlace(place, { ...record, metadata });
  const salt = newSalt();
  const content: HeaderContent = {
    g: generation,
    h: personal === undefined ? record.header : withoutChecksum(record.header),
    ...(whole !== undefined && !isIndexPlain && { m: whole }),
    ...(personal !== undefined && { p: headerParts(record, personal, headerAt, salt) }),
    ...(people.defaults.length > 0 && { d: people.defaults }),
    ...(Object.keys(people.calls).length > 0 && { c: people.calls }),
  };
  const box = sealBox(key.key, Buffer.from(JSON.stringify(content), "utf8"), headerAt, salt);
  const header = `hs1.${key.id}.${box.toString("base64url")}`;
  const plainWords = isIndexPlain ? (personal ?? record).words : undefined;
  const words = Buffer.from(plainWords ?? "", "utf8");
  const bodyAt = bodyPlace(place, generation, record.seq, header, words);
  const plain = personal === undefined ? [WHOLE_BEGINS, record.body] : bodyInParts(personal, bodyAt, salt);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(words.byteLength);
  const body = sealPieces(key.key, plain, bodyAt, salt, [MAGIC, length, words]);
  return { ...record, header, metadata, body, words: plainWords };
}

function headerParts(
  { header }: LogRecord,
  { body, metadata, keys }: Personal,
  at: Buffer,
  salt: Uint8Array,
): NonNullable<HeaderContent["p"]> {
  const all = [...body.parts, ...(metadata?.parts ?? [])].flatMap((part) => part.keys);
  const everybody = [...new Set(all)].sort();
  const sum = CHECKSUM.exec(header)?.[1];
  const kind = sum === undefined ? "h" : "s";
  const taken = sealFor(everybody, keys, Buffer.from(sum ?? header, "utf8"), partPlace(at, kind, everybody), salt);
  const parts = grouped(metadata?.parts ?? []);
  return [
    [kind, everybody, taken.toString("base64url")],
    ...parts.map(
      ({ ids, plain }) =>
        ["m", ids, sealFor(ids, keys, plain, partPlace(at, "m", ids), salt).toString("base64url")] as const,
    ),
  ];
}

/** Flag · length · [keys, length] of each box · the boxes · the body with what stands in their place. */
function bodyInParts({ body, keys }: Personal, at: Buffer, salt: Uint8Array): readonly Uint8Array[] {
  const boxes = grouped(body.parts).map(({ ids, plain }) => {
    return { ids, box: sealFor(ids, keys, plain, partPlace(at, "b", ids), salt) };
  });
  const index = Buffer.from(JSON.stringify(boxes.map(({ ids, box }) => [ids, box.byteLength])), "utf8");
  const head = Buffer.alloc(5);
  head.writeUInt8(IN_PARTS);
  head.writeUInt32BE(index.byteLength, 1);
  return [head, index, ...boxes.map(({ box }) => box), Buffer.from(body.erased, "utf8")];
}

/** Parts that need the same keys go into one box. */
function grouped(
  parts: readonly PersonalPart[],
): readonly { readonly ids: readonly string[]; readonly plain: Buffer }[] {
  const groups = new Map<string, { readonly ids: readonly string[]; readonly parts: unknown[] }>();
  for (const { path, value, keys } of parts) {
    const ids = keys.toSorted();
    const name = ids.join(" ");
    const group = groups.get(name) ?? { ids, parts: [] };
    group.parts.push([path, value]);
    groups.set(name, group);
  }
  return [...groups.values()].map(({ ids, parts: own }) => ({ ids, plain: partBytes(own) }));
}

/** Before a text that is one part and all of it; a list of parts begins with a bracket. */
const ALL_OF_IT = "=";

function partBytes(parts: readonly unknown[]): Buffer {
  const [only] = parts as readonly (readonly [PersonalPart["path"], unknown])[];
  const isAll = parts.length === 1 && only?.[0] === null;
  return Buffer.from(isAll ? `${ALL_OF_IT}${String(only[1])}` : JSON.stringify(parts), "utf8");
}

const sealFor = (ids: readonly string[], keys: Keys, plain: Buffer, place: Buffer, salt: Uint8Array): Buffer =>
  sealBox(combinedKey(ids.flatMap((id) => keys.get(id) ?? [])), plain, place, salt);

/** The checksum tells whether a guess of what was erased is right, so it goes with it. */
const withoutChecksum = (header: string): string => header.replace(CHECKSUM, "}");

const withThatChecksum = (header: string, sum: string): string => `${header.slice(0, -1)},"sum":"${sum}"}`;

/** Opens the header. Whatever is not what was sealed for this place is refused. */
export function peek(entry: LogEntry, place: SealedPlace, { key, missing }: TenantKey): PeekedEntry {
  const [, id = "", box = ""] = HEADER.exec(entry.header) ?? [];
  if (id === "") throw notSealed(place, entry);
  if (key === undefined) throw missing(id);
  if (id !== key.id) throw otherKey(place, entry, id, key);
  const bytes = Buffer.from(box, "base64url");
  // The last character has bits that mean nothing: only one way of writing them is ours.
  const plain = bytes.toString("base64url") === box ? openBox(key.key, bytes, headerPlace(place, entry)) : undefined;
  if (plain === undefined) throw changed(place, entry);
  const content = JSON.parse(plain.toString("utf8")) as HeaderContent;
  const people = content.d || content.c ? { defaults: content.d ?? [], calls: content.c ?? {} } : NO_PEOPLE;
  return { entry, content, people };
}

/** The keys of people that an entry needs. */
export const keysNeededBy = ({ content }: PeekedEntry): readonly string[] =>
  (content.p ?? []).flatMap(([, ids]) => ids);

/** The entry as it was before it was sealed; where a key is gone, with what stands in its place. */
export function openedEntry({ entry, content }: PeekedEntry, place: SealedPlace, keys: Keys): LogEntry {
  const at = headerPlace(place, entry);
  let header = content.h;
  const parts: Pick<PersonalPart, "path" | "value">[] = [];
  for (const [kind, ids, box] of content.p ?? []) {
    const plain = openFor(ids, keys, Buffer.from(box, "base64url"), at, kind);
    if (plain === "gone") continue;
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

const isAllOfIt = (plain: Buffer): boolean => plain[0] === ALL_OF_IT.charCodeAt(0);

const partsIn = (plain: Buffer): readonly Pick<PersonalPart, "path" | "value">[] =>
  isAllOfIt(plain)
    ? [{ path: null, value: plain.toString("utf8", 1) }]
    : (JSON.parse(plain.toString("utf8")) as [PersonalPart["path"], unknown][]).map(([path, value]) => ({
        path,
        value,
      }));

function openFor(
  ids: readonly string[],
  keys: Keys,
  box: Buffer,
  at: Buffer,
  kind: string,
): Buffer | "gone" | undefined {
  const own = ids.flatMap((id) => keys.get(id) ?? []);
  return own.length < ids.length ? "gone" : openBox(combinedKey(own), box, partPlace(at, kind, ids));
}

/** The record as it was before it was sealed; where a key is gone, as an erasure leaves it. */
export function openedRecord(
  record: LogRecord,
  peeked: PeekedEntry,
  place: SealedPlace,
  generation: string,
  { key, missing }: TenantKey,
  keys: Keys,
): LogRecord {
  if (key === undefined) throw missing("of the tenant");
  if (peeked.content.g !== generation) throw changed(place, record);
  const stored = Buffer.from(record.body.buffer, record.body.byteOffset, record.body.byteLength);
  if (!stored.subarray(0, MAGIC.byteLength).equals(MAGIC)) throw notSealed(place, record);
  const words = wordsBytes(stored);
  if (words === undefined) throw changed(place, record);
  const at = bodyPlace(place, generation, record.seq, record.header, words);
  const box = stored.subarray(MAGIC.byteLength + 4 + words.byteLength);
  const plain = openBox(key.key, box, at);
  if (plain === undefined) throw changed(place, record);
  const own = { ...openedEntry(peeked, place, keys), words: words.toString("utf8") || undefined };
  if (plain[0] === WHOLE) return { ...own, body: plain.subarray(1) };
  const { body, isWhole } = bodyFrom(plain, keys, at, () => changed(place, record));
  const opened = { ...own, body };
  return isWhole && own.header !== peeked.content.h ? opened : withChecksum(opened);
}

function bodyFrom(
  plain: Buffer,
  keys: Keys,
  at: Buffer,
  fault: () => StateError,
): { readonly body: Uint8Array; readonly isWhole: boolean } {
  const indexEnd = 5 + plain.readUInt32BE(1);
  let from = indexEnd;
  let isWhole = true;
  const parts: Pick<PersonalPart, "path" | "value">[] = [];
  for (const [ids, length] of JSON.parse(plain.toString("utf8", 5, indexEnd)) as [string[], number][]) {
    const opened = openFor(ids, keys, plain.subarray(from, from + length), at, "b");
    from += length;
    if (opened === undefined) throw fault();
    if (opened === "gone") isWhole = false;
    else if (isAllOfIt(opened)) return { body: opened.subarray(1), isWhole };
    else parts.push(...partsIn(opened));
  }
  return { body: Buffer.from(restored(plain.toString("utf8", from), parts), "utf8"), isWhole };
}

/** What is left has another checksum than what was there. That it is ours was proven by its boxes. */
export function withChecksum(record: LogRecord): LogRecord {
  const { format: _, bodyBytes: _bytes, ...fields } = openHeader(record);
  return sealRecord({ ...record, fields });
}

/** The words that lie in plain beside a sealed body, for an index that is brought up to date later. */
export function wordsBeside({ body }: LogRecord): string | undefined {
  const stored = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!stored.subarray(0, MAGIC.byteLength).equals(MAGIC)) return undefined;
  return wordsBytes(stored)?.toString("utf8") || undefined;
}

function wordsBytes(stored: Buffer): Buffer | undefined {
  const from = MAGIC.byteLength + 4;
  if (stored.byteLength < from) return undefined;
  const length = stored.readUInt32BE(MAGIC.byteLength);
  return stored.byteLength < from + length ? undefined : stored.subarray(from, from + length);
}
