import { addedItems, diffFields, type StateDelta } from "../../state/delta.ts";
import type { StateFields } from "../../state/fields.ts";
import type { Message } from "../../state/message.ts";
import { encodeOwned } from "../../state/values/codec.ts";
import { leastBytesOf } from "../../state/values/doorway.ts";
import { searchableText } from "../../state/words.ts";
import type { LogCapabilities, ThreadLog } from "../log/thread-log.ts";
import type { ChainSize } from "./record.ts";

/** The payload of a checkpoint record, and its effect on the chain. */
export interface PlannedBody {
  readonly kind: "base" | "delta";
  readonly body: Uint8Array;
  /** What the body was encoded from. */
  readonly content: BodyContent;
  /** The messages that this record adds to the thread: each message is indexed once in its life. */
  readonly newMessages: readonly Message[];
  /** The positions of those messages in the body, unless they are all of them. */
  readonly freshMessages?: readonly number[] | undefined;
  readonly chain: ChainSize;
  /** The byte arrays in it, so that later changes in place are detected. */
  readonly bytes: readonly Uint8Array[];
}

/** The limits and preferences of the storage. */
export type Room = Pick<LogCapabilities, "maxRecordBytes" | "maxChainRecords">;

export interface PlannedFrom {
  readonly fields: StateFields;
  readonly chain: ChainSize;
}

/** Garbage below this size is not worth a new base, unless it is spread over very many records. */
const SLACK_BYTES = 64 * 1024;
const MANY_RECORDS = 64;

/**
 * A delta from the state before, or a base. Deltas of a growing history are
 * that history, so a base is written only where it pays:
 *
 * - there is nothing to build on, or more was rewritten than kept;
 * - the chain is mostly values that were overwritten since;
 * - the storage reads records one by one and there are too many of them, and
 *   as much was added since the last base as that base was large.
 *
 * The last two write a base only after as many new bytes, so the total of all
 * writes stays proportional to what was added. A base that would not fit into one
 * record is never required: the chain goes on instead.
 */
export function planBody(after: StateFields, before: PlannedFrom | undefined, room: Room): PlannedBody {
  if (before === undefined) return planBase(after, after.messages);
  const { delta, isRewrite } = diffFields(before.fields, after);
  const planned = isRewrite ? undefined : planDelta(delta, before, after);
  if (planned !== undefined && fits(planned, room) && !baseWouldPay(planned.chain, room)) return planned;
  const base = mayFit(after, room) ? rebased(before.fields, after) : undefined;
  if (base !== undefined && fits(base, room)) return base;
  const instead = planned ?? planDelta(delta, before, after);
  // Counted from here, so that only as many new bytes again are a reason to try once more.
  return { ...instead, chain: { ...instead.chain, baseBytes: instead.chain.bytes } };
}

export const fits = ({ body }: Pick<PlannedBody, "body">, { maxRecordBytes }: Room): boolean =>
  body.byteLength <= maxRecordBytes;

/** False if a base cannot fit, which is known without encoding one. */
export const mayFit = (fields: StateFields, { maxRecordBytes }: Room): boolean =>
  leastBytesOf(fields) <= maxRecordBytes;

export function planBase(fields: StateFields, newMessages: readonly Message[]): PlannedBody {
  const bytes: Uint8Array[] = [];
  const content = { base: fields } as unknown as BodyContent;
  const body = Buffer.from(
    encodeOwned(content, "state", () => fields, bytes),
    "utf8",
  );
  const size = body.byteLength;
  const chain = { records: 1, bytes: size, liveBytes: size, baseBytes: size };
  return { kind: "base", body, content, newMessages, freshMessages: undefined, chain, bytes };
}

function planDelta(delta: StateDelta, { fields, chain: before }: PlannedFrom, after: StateFields): PlannedBody {
  const bytes: Uint8Array[] = [];
  const content = { delta };
  const body = Buffer.from(
    encodeOwned(content, "state", () => after, bytes),
    "utf8",
  );
  const added = addedItems(delta, "messages") as readonly Message[];
  const chain = {
    records: before.records + 1,
    bytes: before.bytes + body.byteLength,
    liveBytes: before.liveBytes + Math.max(0, body.byteLength - overwrittenBytes(delta)),
    baseBytes: before.baseBytes,
  };
  const planned = { kind: "delta", body, content, newMessages: added, freshMessages: undefined, chain, bytes } as const;
  // Appended items are new. Only a rewritten list may contain again what it held before.
  if (delta.lists?.["messages"] === undefined) return planned;
  const fresh = freshIn(added, fields);
  if (fresh.length === added.length) return planned;
  return { ...planned, newMessages: fresh.flatMap((index) => added[index] ?? []), freshMessages: fresh };
}

/** The part that replaces something older: the chain grows by it, the state does not. */
function overwrittenBytes(delta: StateDelta): number {
  if (delta.append !== undefined && Object.keys(delta).length === 1) return 0;
  const { append: _, ...rest } = delta;
  return Object.keys(rest).length === 0 ? 0 : encodeOwned(rest, "state").length;
}

function baseWouldPay({ records, bytes, liveBytes, baseBytes }: ChainSize, { maxChainRecords }: Room): boolean {
  if (bytes < 2 * baseBytes) return false;
  const slack = records > MANY_RECORDS ? 0 : SLACK_BYTES;
  return bytes > 2 * liveBytes + slack || records > maxChainRecords;
}

/** The words of these messages for an index. */
export const wordsOf = (messages: readonly Message[]): string | undefined => searchableText(messages) || undefined;

/** The same, for a backend that indexes within the append; for the others a save does not pay for it. */
export const wordsToAppend = (log: ThreadLog, messages: readonly Message[]): string | undefined =>
  log.capabilities.search === "with words" ? wordsOf(messages) : undefined;

/** A base that counts only the messages as new that were not there before, compared by identity. */
function rebased(before: StateFields, after: StateFields): PlannedBody {
  const freshMessages = freshIn(after.messages, before);
  const newMessages = freshMessages.flatMap((index) => after.messages[index] ?? []);
  return { ...planBase(after, newMessages), freshMessages };
}

/** The positions of the messages that the previous state did not contain. */
function freshIn(messages: readonly Message[], before: StateFields): readonly number[] {
  if (messages.length === 0) return [];
  const old = new Set(before.messages);
  return [...messages.keys()].filter((index) => !old.has(messages[index] as Message));
}

/** The same base, with only those messages counted as new that are in `fresh`, compared by value from the end. */
export function countingAsNew(base: PlannedBody, fields: StateFields, fresh: readonly Message[]): PlannedBody {
  const wanted = new Map<string, number>();
  for (const message of fresh) {
    const text = encodeOwned(message, "message");
    wanted.set(text, (wanted.get(text) ?? 0) + 1);
  }
  const freshMessages: number[] = [];
  for (const [index, message] of [...fields.messages.entries()].reverse()) {
    const text = encodeOwned(message, "message");
    const left = wanted.get(text) ?? 0;
    if (left > 0) freshMessages.unshift(index);
    wanted.set(text, left - 1);
  }
  const newMessages = freshMessages.flatMap((index) => fields.messages[index] ?? []);
  return { ...base, newMessages, freshMessages };
}

/** What the body of a checkpoint says. */
export interface BodyContent {
  readonly base?: Readonly<Record<string, unknown>>;
  readonly delta?: StateDelta;
}

/** It goes with the body. */
const handedOver = new WeakMap<Uint8Array, BodyContent>();

/** For a log that looks into the bodies it is given: it need not decode what was encoded just before. */
export function handOverContent(body: Uint8Array, content: BodyContent): void {
  handedOver.set(body, content);
}

export const contentHandedOver = (body: Uint8Array): BodyContent | undefined => handedOver.get(body);
