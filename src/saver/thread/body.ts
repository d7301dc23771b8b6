import { StateError } from "../../errors.ts";
import { type PartsDelta, partKey, partPath } from "../values/parts.ts";
import type { PoolAdditions } from "../values/pool.ts";

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
  const texts: string[] = [...pool.elements];
  const calls = writes.map(({ taskId, replaces, writes: own }) => {
    const fields = own.flatMap(({ channel, index, text }) => [channel, index, text.length]);
    return [taskId, replaces ? 1 : 0, ...fields] as const;
  });
  const line: Line = {
    ...(pool.elements.length > 0 && { e: pool.elements.map((text) => text.length) }),
    ...(pool.lists.length > 0 && { l: pool.lists }),
    ...(checkpoint !== undefined && lineOf(checkpoint)),
    ...(calls.length > 0 && { w: calls }),
  };
  for (const [, text] of checkpoint?.parts.set ?? []) texts.push(text);
  for (const { writes: own } of writes) for (const { text } of own) texts.push(text);
  return Buffer.from(`${JSON.stringify(line)}\n${texts.join("")}`);
}

function lineOf({ on, parts }: CheckpointBody): Line {
  return {
    on,
    s: parts.set.map(([key, text]) => [...partPath(key), text.length] as const),
    ...(parts.removed.length > 0 && { d: parts.removed.map(partPath) }),
    ...(parts.order !== undefined && { k: parts.order.map(partPath) }),
  };
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
