import { isUtf8 } from "node:buffer";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { changedMetadata, decodeMetadata } from "../../checkpoint/record/metadata.ts";
import { type BodyContent, contentHandedOver } from "../../checkpoint/record/plan-record.ts";
import { addedItems, type StateDelta } from "../../state/delta.ts";
import type { Message } from "../../state/message.ts";
import { callsOf, peopleOf, Sweep } from "../../state/people/erasing.ts";
import { subjectsIn } from "../../state/people/subjects.ts";
import { decodeText, encodeOwned } from "../../state/values/codec.ts";
import { isPlainObject } from "../../state/values/doorway.ts";
import { type Path, valueAt, withParts } from "./json-parts.ts";
import { isMostOfIt, type Parted, type PersonalPart, parted, restored } from "./parted-text.ts";
import { NO_PEOPLE, type ThreadPeople } from "./thread-people.ts";

/**
 * Which parts of a record belong to which person. An erasure uses the same sweep, so
 * that a destroyed key leaves exactly what an erasure leaves.
 */

/** The same of a body. Where all of it is sealed with people's keys, it is not taken apart. */
export interface PartedBody {
  readonly erased: Uint8Array;
  readonly parts: readonly PersonalPart[];
  readonly wholeOf?: readonly string[];
}

/** A record that may hold something about people, decoded. */
export interface OpenedContent {
  readonly bytes: Buffer;
  readonly body: BodyContent;
  readonly metadata: Fields | undefined;
  readonly metadataText: string | undefined;
  /** All people who are named in it. */
  readonly subjects: ReadonlySet<string>;
}

type Fields = Readonly<Record<string, unknown>>;

const NAMES_SOMEBODY = Buffer.from("subject");

/** Whether no person can be named in the record. Most records are of this kind, and are not even decoded. */
export const namesNobody = ({ body, metadata }: LogRecord): boolean =>
  !bufferOf(body).includes(NAMES_SOMEBODY) && metadata?.includes("subject") !== true;

const bufferOf = (body: Uint8Array): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);

/** `undefined` if the record holds nothing personal. */
export function contentOf(record: LogRecord, people: ThreadPeople): OpenedContent | undefined {
  if (isAboutNobody(people) && namesNobody(record)) return undefined;
  const { body: given } = record;
  const bytes = bufferOf(given);
  const body = contentHandedOver(given) ?? (isUtf8(bytes) ? bodyIn(bytes.toString("utf8")) : undefined);
  if (body === undefined) return undefined;
  const metadata = metadataIn(record.metadata);
  const subjects = new Set(namedIn(body, metadata));
  return { bytes, body, metadata, metadataText: metadata && record.metadata, subjects };
}

const isAboutNobody = (people: ThreadPeople): boolean =>
  people === NO_PEOPLE ||
  (people.defaults.length === 0 && people.named.length === 0 && Object.keys(people.calls).length === 0);

/** What an index may hold of a record that cannot be taken apart, such as a graph's, and who its thread is about behind it. */
export function judgedWhole(
  record: LogRecord,
  before: ThreadPeople,
): { readonly after: ThreadPeople; readonly mayListWords: boolean; readonly mayListMetadata: boolean } {
  const mayList = !before.isUnlisted && isAboutNobody(before);
  if (mayList && namesNobody(record)) return { after: before, mayListWords: true, mayListMetadata: true };
  const mayListMetadata = mayList && record.metadata?.includes("subject") !== true;
  const isNamed = !mayListMetadata && subjectsIn(metadataIn(record.metadata)?.["subject"]).length > 0;
  return { after: isNamed ? { ...before, isUnlisted: true } : before, mayListWords: false, mayListMetadata };
}

/** All people who are named in it. */
function namedIn(body: BodyContent, metadata?: Fields): readonly string[] {
  const subjects = new Set<string>();
  const matches = (subject: string): boolean => {
    subjects.add(subject);
    return false;
  };
  const collecting = new Sweep({ matches });
  sweepBody(body, collecting);
  if (metadata !== undefined) collecting.metadata(metadata);
  return [...subjects];
}

const NO_CALLS: ReadonlySet<string> = new Set();

function bodyIn(text: string): BodyContent | undefined {
  try {
    const body = decodeText(text, "body");
    if (!isPlainObject(body)) return undefined;
    const { base, delta } = body as { base?: Fields; delta?: StateDelta };
    if (isPlainObject(base)) return { base };
    return isPlainObject(delta) ? { delta } : undefined;
  } catch {
    // Not written by a checkpointer: it is sealed as a whole.
    return undefined;
  }
}

/** Nothing is left of metadata that cannot be read. */
const NO_METADATA = "{}";

function metadataIn(metadata: string | undefined): Fields | undefined {
  try {
    return metadata === undefined ? undefined : decodeMetadata(metadata, "metadata");
  } catch {
    return undefined;
  }
}

function sweepBody({ base, delta }: BodyContent, sweep: Sweep): BodyContent {
  if (base !== undefined) return { base: sweep.fields(base) };
  return delta === undefined ? {} : { delta: sweep.delta(delta) };
}

/** The thread as it is known once this record is there. `keyOf`: the key of each who is named in it. */
export function peopleAfter(
  content: OpenedContent,
  before: ThreadPeople,
  keyOf: ReadonlyMap<string, string>,
): ThreadPeople {
  const owners = [...defaultsIn(content.body), ...subjectsIn(content.metadata?.["subject"])];
  const defaults = [...new Set([...before.defaults, ...owners.flatMap((subject) => keyOf.get(subject) ?? [])])];
  const named = new Set([...before.named, ...keyOf.values()]);
  for (const key of defaults) named.delete(key);
  const calls = { ...before.calls, ...callsBy(content, defaults, keyOf, defaults.length + named.size > 0) };
  for (const message of messagesIn(content.body)) if (message.role === "tool") delete calls[message.toolCallId];
  return {
    ...before,
    defaults,
    named: [...named].slice(-MOST_NAMED),
    calls: Object.fromEntries(Object.entries(calls).slice(-MOST_CALLS)),
  };
}

/** Every record says who is named in its thread. Of more people, the last are known, and those in the record itself. */
const MOST_NAMED = 256;
/** Calls that are never answered must not be carried along for ever. */
const MOST_CALLS = 64;

/** What of a record is sealed with people's keys; `undefined` where nothing is. */
export function partsOf(
  content: OpenedContent,
  before: ThreadPeople,
  after: ThreadPeople,
  keyOf: ReadonlyMap<string, string>,
): { readonly body: PartedBody; readonly metadata: Parted | undefined } | undefined {
  const calls = { ...before.calls, ...callsBy(content, after.defaults, keyOf, true) };
  const knowsCall = (call: string): boolean => Object.hasOwn(calls, call);
  const everyone = new Set([...after.defaults, ...after.named, ...keyOf.values()]);
  const ofAll = (own: BodyContent): Iterable<string> => (mayQuoteAnyone(own, knowsCall) ? everyone : []);
  const keys = [
    ...new Set([...after.defaults, ...keyOf.values(), ...Object.values(calls).flat(), ...ofAll(content.body)]),
  ];
  const defaults = new Set(after.defaults);
  const callsOfKey = new Map(keys.map((key) => [key, new Set<string>()]));
  for (const [call, ids] of Object.entries(calls)) for (const id of ids) callsOfKey.get(id)?.add(call);
  const sweepFor = (key: string): Sweep =>
    new Sweep({
      matches: (subject) => keyOf.get(subject) === key,
      isThreadMatched: defaults.has(key),
      calls: callsOfKey.get(key) ?? NO_CALLS,
      knowsCall,
      concernsEveryone: () => everyone.has(key),
    });
  const keysIn = ({ body: own, call }: Piece): readonly string[] => [
    ...new Set([
      ...defaults,
      ...namedIn(own).flatMap((subject) => keyOf.get(subject) ?? []),
      ...((call === undefined ? undefined : calls[call]) ?? []),
      ...ofAll(own),
    ]),
  ];
  const body =
    (keys.length > FEW ? partedInPieces(content, keysIn, sweepFor) : undefined) ?? partedBody(content, keys, sweepFor);
  const { metadataText } = content;
  const metadata =
    metadataText === undefined
      ? undefined
      : parted(metadataText, keys, (key, text) =>
          metadataIn(text) === undefined
            ? NO_METADATA
            : changedMetadata(text, (given) => sweepFor(key).metadata(given)),
        );
  const held = body.wholeOf !== undefined || body.parts.length + (metadata?.parts.length ?? 0) > 0;
  return held ? { body, metadata } : undefined;
}

/** Up to this many people, scanning the whole body for each costs less than splitting it into pieces. */
const FEW = 4;

/** Each piece by itself, for the people it concerns. `undefined` where the pieces would not give back the same text. */
function partedInPieces(
  { bytes, body }: OpenedContent,
  keysIn: (piece: Piece) => readonly string[],
  sweepFor: (key: string) => Sweep,
): PartedBody | undefined {
  const text = bytes.toString("utf8");
  const [whole, left]: [unknown, unknown] = [JSON.parse(text), JSON.parse(text)];
  const parts: PersonalPart[] = [];
  for (const piece of piecesOf(body)) {
    const own = encodeOwned(piece.body, "state");
    const judged = parted(own, keysIn(piece), (key, each) => {
      return sweptText(each === own ? piece.body : (bodyIn(each) ?? {}), sweepFor(key)) ?? each;
    });
    if (judged.parts.length === 0) continue;
    if (valueAt(whole, piece.path) === undefined) return undefined;
    leaveOf(piece, judged.erased, left);
    for (const part of judged.parts) parts.push(placed(piece, part, whole));
  }
  if (parts.length === 0) return { erased: bytes, parts };
  const erased = JSON.stringify(left);
  return restored(erased, parts) === text ? { erased: Buffer.from(erased, "utf8"), parts } : undefined;
}

function partedBody(
  { bytes, body }: OpenedContent,
  keys: readonly string[],
  sweepFor: (key: string) => Sweep,
): PartedBody {
  const swept = new Map<string, string>();
  for (const key of keys) {
    const left = sweptText(body, sweepFor(key));
    if (left !== undefined) swept.set(key, left);
  }
  const touched = [...swept.keys()];
  const left = touched.length === 1 ? swept.get(touched[0] ?? "") : undefined;
  if (left !== undefined && isMostOfIt(left, bytes.byteLength)) {
    return { erased: Buffer.from(left, "utf8"), parts: [], wholeOf: touched };
  }
  if (touched.length === 0) return { erased: bytes, parts: [] };
  const text = bytes.toString("utf8");
  const { erased, parts } = parted(text, touched, (key, each) => {
    if (each === text) return swept.get(key) ?? text;
    return sweptText(bodyIn(each) ?? {}, sweepFor(key)) ?? each;
  });
  const whole = parts.find(({ path }) => path === null);
  return { erased: Buffer.from(erased, "utf8"), parts, ...(whole && { parts: [], wholeOf: whole.keys }) };
}

/** `undefined` if nothing was to be removed. */
function sweptText(body: BodyContent, sweep: Sweep): string | undefined {
  const left = sweepBody(body, sweep);
  return left.base === body.base && left.delta === body.delta ? undefined : encodeOwned(left, "state");
}

/** Whether something in it may quote any person in the thread. */
function mayQuoteAnyone(body: BodyContent, knowsCall: (call: string) => boolean): boolean {
  let does = false;
  const concernsEveryone = (): boolean => {
    does = true;
    return false;
  };
  sweepBody(body, new Sweep({ matches: () => false, knowsCall, concernsEveryone }));
  return does;
}

/**
 * The calls that this record's messages ask for or answer, and whose they are; with `all`, also those without an
 * owner.
 */
function callsBy(
  { body }: OpenedContent,
  defaults: readonly string[],
  keyOf: ReadonlyMap<string, string>,
  all: boolean,
): Record<string, readonly string[]> {
  // A call may be named "__proto__".
  const calls = new Map<string, readonly string[]>();
  for (const message of messagesIn(body)) {
    const subjects = peopleOf(message);
    const keys = subjects === undefined ? defaults : subjects.flatMap((subject) => keyOf.get(subject) ?? []);
    if (all || keys.length > 0) for (const call of callsOf(message)) calls.set(call, keys);
  }
  return Object.fromEntries(calls);
}

function messagesIn({ base, delta }: BodyContent): readonly Message[] {
  const messages = delta === undefined ? base?.["messages"] : addedItems(delta, "messages");
  return Array.isArray(messages) ? (messages as readonly Message[]).filter((each) => isPlainObject(each)) : [];
}

/** The thread's own subjects, as far as this record sets them. */
function defaultsIn({ base, delta }: BodyContent): readonly string[] {
  const whole = delta === undefined ? base?.["metadata"] : delta.set?.["metadata"];
  const changed = delta?.records?.["metadata"]?.set;
  return [whole, changed].flatMap((metadata) => (isPlainObject(metadata) ? subjectsIn(metadata["subject"]) : []));
}

/**
 * A body in pieces, each of which is judged by itself: an item of a list, a member
 * of a record, or any other field. A sweep looks at nothing beyond one of them, so
 * it need not go over all of them for each of many people.
 */
interface Piece {
  /** A body that holds nothing else. */
  readonly body: BodyContent;
  /** Where it lies in the whole body, and in the one that holds nothing else. */
  readonly path: Path;
  readonly ownPath: Path;
  /** The call that it belongs to, if it belongs to one. */
  readonly call: string | undefined;
}

function piecesOf({ base, delta }: BodyContent): readonly Piece[] {
  if (base !== undefined) return fieldsIn(base, ["base"], (fields) => ({ base: fields }));
  const { set = {}, append = {}, lists = {}, records = {} } = delta ?? {};
  const only = (part: StateDelta): BodyContent => ({ delta: part });
  return [
    ...fieldsIn(set, ["delta", "set"], (fields) => only({ set: fields })),
    ...Object.entries(append).flatMap(([name, items]) =>
      itemsIn(items, ["delta", "append", name], (one) => only({ append: { [name]: one } })),
    ),
    ...Object.entries(lists).flatMap(([name, { keep, items }]) =>
      itemsIn(items, ["delta", "lists", name, "items"], (one) => only({ lists: { [name]: { keep, items: one } } })),
    ),
    ...Object.entries(records).flatMap(([name, change]) =>
      membersIn(name, change.set ?? {}, ["delta", "records", name, "set"], (one) =>
        only({ records: { [name]: { set: one } } }),
      ),
    ),
  ];
}

function fieldsIn(fields: Fields, path: Path, bodyOf: (fields: Fields) => BodyContent): readonly Piece[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const at = [...path, name];
    if (Array.isArray(value)) return itemsIn(value, at, (one) => bodyOf({ [name]: one }));
    if (isPlainObject(value)) return membersIn(name, value, at, (one) => bodyOf({ [name]: one }));
    return [{ body: bodyOf({ [name]: value }), path: at, ownPath: at, call: undefined }];
  });
}

const itemsIn = (
  items: readonly unknown[],
  path: Path,
  bodyOf: (items: readonly unknown[]) => BodyContent,
): readonly Piece[] =>
  items.map((item, index) => ({
    body: bodyOf([item]),
    path: [...path, index],
    ownPath: [...path, 0],
    call: isPlainObject(item) && typeof item["toolCallId"] === "string" ? item["toolCallId"] : undefined,
  }));

function membersIn(
  name: string,
  record: Fields,
  path: Path,
  bodyOf: (record: Fields) => BodyContent,
): readonly Piece[] {
  // The codec writes such a record in another form.
  if (Object.hasOwn(record, "$")) return [{ body: bodyOf(record), path, ownPath: path, call: undefined }];
  return Object.entries(record).map(([member, value]) => {
    const at = [...path, member];
    return {
      body: bodyOf({ [member]: value }),
      path: at,
      ownPath: at,
      call: name === "artifacts" ? member : undefined,
    };
  });
}

/** A part of a piece, at its place in the whole. A part without a path is all of the piece. */
function placed<Part extends { readonly path: Path | null; readonly value: unknown }>(
  { path, ownPath }: Piece,
  part: Part,
  whole: unknown,
): Part & { readonly path: Path } {
  if (part.path === null) return { ...part, path, value: valueAt(whole, path) };
  return { ...part, path: [...path, ...part.path.slice(ownPath.length)] };
}

/** Puts the rest of a piece back into the whole. */
function leaveOf({ path, ownPath }: Piece, left: string, whole: unknown): void {
  withParts(whole, [{ path, value: valueAt(JSON.parse(left), ownPath) }]);
}
