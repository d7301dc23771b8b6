import { createHash } from "node:crypto";
import { namesOf } from "../../checkpoint/log/driver-rules.ts";
import type { LogEntry } from "../../checkpoint/log/thread-log.ts";
import { openHeader, type RecordHeader } from "../../checkpoint/record/record.ts";
import { MAX_ID_BYTES } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { GRAPH_METADATA } from "../../state/people/personal-fields.ts";
import { redactMetadata } from "../../state/people/redacting.ts";
import type { Redactor } from "../../state/secrets.ts";
import { holdsOf, isJsonList, isJsonObject, type JsonValue, mapParts, TAG } from "../../state/values/tags.ts";
import { searchWords } from "../../state/words.ts";
import { unsearchedIn } from "../values/graph-placeholders.ts";
import { membersText } from "../values/packing.ts";
import { isContentChannel, isContentPart, isLangGraphs, type PartsDelta, partKey, partPath } from "../values/parts.ts";
import { type PoolAdditions, treeOf } from "../values/pool.ts";

/** What is special about the records of a graph's thread: their names, their bodies, and the words in them. */

/**
 * The names of a graph's records. A checkpoint of the root graph has its own id,
 * so that a listing of the thread shows familiar ids:
 *
 *   1ef4f797-…                  checkpoint of the root graph
 *   /agent:5f0a…/1ef4f797-…     checkpoint of the namespace "agent:5f0a…"
 *   //agent:5f0a…               the newest checkpoint of that namespace; "//" for the root
 *   ///3q2-7w…                  either, where it would be too long: its digest, and the whole in the header
 */
export interface CheckpointPlace {
  readonly ns: string;
  readonly id: string;
}

const escaped = (part: string): string => part.replace(/[%/]/g, (found) => (found === "%" ? "%25" : "%2F"));
const unescaped = (part: string): string =>
  part.includes("%") ? part.replace(/%25|%2F/g, (found) => (found === "%25" ? "%" : "/")) : part;

const fitting = (name: string): string =>
  Buffer.byteLength(name) <= MAX_ID_BYTES ? name : `///${createHash("sha256").update(name).digest("base64url")}`;

export const checkpointName = (ns: string, id: string): string =>
  fitting(ns === "" ? escaped(id) : `/${escaped(ns)}/${escaped(id)}`);

export const newestName = (ns: string): string => fitting(`//${escaped(ns)}`);

/** Which checkpoint a record is about, or `undefined` if it is about no checkpoint. */
export function placeOf(entry: LogEntry, header: RecordHeader = openHeader(entry)): CheckpointPlace | undefined {
  const [name] = namesOf(entry);
  if (header.graph === undefined || name === undefined) return undefined;
  const { ns = "", id } = header.graph;
  if (id !== undefined) return { ns, id };
  if (!name.startsWith("/")) return { ns: "", id: unescaped(name) };
  const [, inNs, inId, ...rest] = name.split("/");
  if (!inNs || inId === undefined || rest.length > 0) {
    throw new StateError("CORRUPT", `record ${entry.seq} of a graph has the unknown name ${JSON.stringify(name)}`, {
      location: `record ${entry.seq}`,
    });
  }
  return { ns: unescaped(inNs), id: unescaped(inId) };
}

/** Whether this record made its checkpoint the newest of its namespace, or left it so. */
export const isNewest = (entry: LogEntry, ns: string): boolean => entry.names?.includes(newestName(ns)) === true;

/** Metadata as JSON with the caller's own keys, so that a storage can query them, as a redactor leaves them. */
export function metadataText(metadata: object, redactor: Redactor | undefined): string {
  const text = membersText(metadata, "metadata");
  return redactor === undefined ? text : redactMetadata(text, GRAPH_METADATA, redactor);
}

/** What a record of a graph's thread holds. */
export interface GraphBody {
  readonly pool: PoolAdditions;
  /** Present if the record puts its checkpoint, for the first time or as a copy. */
  readonly checkpoint?: CheckpointBody;
  /** Calls of putWrites, in their order. */
  readonly writes: readonly WriteCall[];
}

export interface CheckpointBody {
  /** The position of the record whose parts these are a change of; 0 where they are all. */
  readonly on: number;
  readonly parts: PartsDelta;
}

export interface WriteCall {
  readonly taskId: string;
  /** Whether it replaces what its task wrote before. */
  readonly replaces: boolean;
  readonly writes: readonly StoredWrite[];
}

export interface StoredWrite {
  readonly channel: string;
  readonly index: number;
  readonly text: string;
}

/**
 * A line of JSON, then all texts one after another; the line holds their lengths. So
 * no text is escaped, and a text is parsed only when it is needed.
 */
interface Line {
  /** Lengths of the new elements. */
  readonly e?: readonly number[];
  readonly l?: readonly (readonly number[])[];
  readonly on?: number;
  readonly s?: readonly (readonly [...path: string[], length: number])[];
  readonly d?: readonly (readonly string[])[];
  readonly k?: readonly (readonly string[])[];
  readonly w?: readonly (readonly [task: string, replaces: 0 | 1, ...writes: (string | number)[]])[];
}

export function encodeBody({ pool, checkpoint, writes }: GraphBody): Uint8Array {
  const line: { -readonly [Key in keyof Line]: Line[Key] } = {};
  let texts = pool.elements.join("");
  if (pool.elements.length > 0) line.e = pool.elements.map((text) => text.length);
  if (pool.lists.length > 0) line.l = pool.lists;
  if (checkpoint !== undefined) {
    const { set, removed, order } = checkpoint.parts;
    line.on = checkpoint.on;
    line.s = set.map(([key, text]) => {
      texts += text;
      return [...partPath(key), text.length] as const;
    });
    if (removed.length > 0) line.d = removed.map(partPath);
    if (order !== undefined) line.k = order.map(partPath);
  }
  if (writes.length > 0) {
    line.w = writes.map(({ taskId, replaces, writes: own }) => {
      for (const { text } of own) texts += text;
      return [taskId, replaces ? 1 : 0, ...own.flatMap(({ channel, index, text }) => [channel, index, text.length])];
    });
  }
  return Buffer.from(`${JSON.stringify(line)}\n${texts}`);
}

/** The calls of putWrites in a record, without their values: only the line is read. */
export function callsIn(
  body: Uint8Array,
  seq: number,
): readonly (Omit<WriteCall, "writes"> & {
  readonly writes: readonly Omit<StoredWrite, "text">[];
})[] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const line = parsedLine(bytes.subarray(0, bytes.indexOf("\n")).toString(), seq);
  return (line.w ?? []).map(([taskId, replaces, ...fields]) => {
    const writes: Omit<StoredWrite, "text">[] = [];
    for (let field = 0; field < fields.length; field += 3) {
      writes.push({ channel: fields[field] as string, index: fields[field + 1] as number });
    }
    return { taskId, replaces: replaces === 1, writes };
  });
}

/** The position that the checkpoint of a record is a change of; 0 where it is whole, or the record puts no checkpoint. */
export const changeOf = (body: Uint8Array, seq: number): number => lineAndTexts(body, seq).line.on ?? 0;

/** The same body in a thread whose positions are others: that is the only one which a body names. */
export function asChangeOf(body: Uint8Array, seq: number, on: number): Uint8Array {
  const { line, texts } = lineAndTexts(body, seq);
  if ((line.on ?? 0) === on) return body;
  return Buffer.concat([Buffer.from(JSON.stringify({ ...line, on })), texts]);
}

function lineAndTexts(body: Uint8Array, seq: number): { readonly line: Line; readonly texts: Buffer } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const end = bytes.indexOf("\n");
  return { line: parsedLine(bytes.subarray(0, end).toString(), seq), texts: bytes.subarray(end) };
}

/** The record was proven by its checksum, so its line is one of ours. */
function parsedLine(text: string, seq: number): Line {
  try {
    return JSON.parse(text) as Line;
  } catch (cause) {
    throw new StateError("CORRUPT", `the body of record ${seq} is damaged`, { location: `record ${seq}`, cause });
  }
}

export function decodeBody(body: Uint8Array, seq: number): GraphBody {
  const whole = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  const end = whole.indexOf("\n");
  const line = parsedLine(whole.slice(0, end), seq);
  let at = end + 1;
  const take = (length: number): string => {
    at += length;
    return whole.slice(at - length, at);
  };
  const elements = (line.e ?? []).map(take);
  const set = (line.s ?? []).map((each) => {
    const path = each.slice(0, -1) as unknown as readonly [string];
    return [partKey(path), take(each.at(-1) as number)] as const;
  });
  const writes = (line.w ?? []).map(([taskId, replaces, ...fields]) => {
    const own: StoredWrite[] = [];
    for (let field = 0; field < fields.length; field += 3) {
      const [channel, index, length] = fields.slice(field, field + 3) as [string, number, number];
      own.push({ channel, index, text: take(length) });
    }
    return { taskId, replaces: replaces === 1, writes: own };
  });
  const { on, d = [], k } = line;
  const order = k === undefined ? {} : { order: k.map((path) => partKey(path as readonly [string])) };
  const removed = d.map((path) => partKey(path as readonly [string]));
  return {
    pool: { elements, lists: line.l ?? [] },
    writes,
    ...(on !== undefined && { checkpoint: { on, parts: { set, removed, ...order } } }),
  };
}

/**
 * The words that a record brings into its thread, for the search: texts of content that are new in it, so that each
 * message is indexed once. Of JSON, keys and ids are no words; of a tag or of one of LangChain's objects, only what it
 * holds; of bytes, nothing.
 */
export function wordsOf({ pool, checkpoint, writes }: GraphBody): string | undefined {
  const set = checkpoint?.parts.set.map(([key, text]) => ({ path: partPath(key), text })) ?? [];
  const isLangGraph = isLangGraphs(set.map(({ path }) => path[0]));
  const texts = [...pool.elements];
  for (const { path, text } of set) if (!isLangGraph || isContentPart(path)) texts.push(text);
  for (const { channel, text } of writes.flatMap((call) => call.writes))
    if (isContentChannel(channel)) texts.push(text);
  const found: string[] = [];
  for (const text of texts) collectWords(treeOf(text), found);
  return found.length === 0 ? undefined : found.join(" ");
}

/** `isForeign`: inside of JSON that LangChain wrote, where "$" means nothing. */
function collectWords(json: JsonValue, found: string[], isForeign = false): void {
  if (typeof json === "string") {
    if (BINARY.test(json)) return;
    const words = searchWords(json);
    if (words.length > 0) found.push(words.join(" "));
  } else if (isJsonList(json)) {
    for (const each of json) collectWords(each, found, isForeign);
  } else if (isJsonObject(json)) {
    if (isForeign || !Object.hasOwn(json, TAG)) {
      const unsearched = unsearchedIn(json, isForeign);
      for (const [name, each] of Object.entries(json)) if (!unsearched.has(name)) collectWords(each, found, isForeign);
    } else if (holdsOf(json[TAG]) === "json") collectWords(json["v"] ?? null, found, true);
    else {
      mapParts(json, (part) => {
        collectWords(part, found);
        return part;
      });
    }
  }
}

/** Bytes in base64, as models take files and pictures. No word is so long. */
const BINARY = /^(?:data:[^,]{0,200};base64,)?[\w+/-]{64,}={0,2}$/;
