import { encodeOwned, encodeText } from "../state/codec.ts";
import { addedItems, diffFields, type StateDelta } from "../state/delta.ts";
import type { Message } from "../state/message.ts";
import { searchableText } from "../state/searchable-text.ts";
import type { StateFields } from "../state/state-fields.ts";
import type { ChainSize } from "./record.ts";
import type { ThreadLog } from "./thread-log.ts";

/** The payload of a checkpoint record, and what it means for the chain. */
export interface PlannedBody {
  readonly kind: "base" | "delta";
  readonly body: Uint8Array;
  /** What this record brings into the thread: each message is indexed once in its life. */
  readonly newMessages: readonly Message[];
  /** Positions of those messages among the ones the body holds, where they are not all of them. */
  readonly freshMessages?: readonly number[];
  readonly chain: ChainSize;
}

export interface PlannedFrom {
  readonly fields: StateFields;
  readonly chain: ChainSize;
}

/** Below this, garbage in a chain is not worth a new base. */
const SLACK_BYTES = 64 * 1024;

/**
 * A delta from the state before, or a base. Deltas of a growing history are
 * that history, so a base is written only where it pays:
 *
 * - there is nothing to build on, or more was rewritten than kept;
 * - the chain is mostly values that were overwritten since;
 * - the storage reads records one by one and there are too many of them, and
 *   as much was added since the last base as that base was large.
 *
 * The last two cost a base only after as many new bytes, so that the sum of all
 * that is ever written stays proportional to what was added.
 */
export function planBody(after: StateFields, before: PlannedFrom | undefined, maxChainRecords: number): PlannedBody {
  if (before === undefined) return planBase(after, after.messages);
  const delta = diffFields(before.fields, after);
  if (delta === undefined) return rebased(before.fields, after);
  const planned = planDelta(delta, before);
  return baseWouldPay(planned.chain, maxChainRecords) ? rebased(before.fields, after) : planned;
}

export function planBase(fields: StateFields, newMessages: readonly Message[]): PlannedBody {
  const body = encodeBody("base", fields);
  const bytes = body.byteLength;
  return { kind: "base", body, newMessages, chain: { records: 1, bytes, liveBytes: bytes, baseBytes: bytes } };
}

function planDelta(delta: StateDelta, { fields, chain: before }: PlannedFrom): PlannedBody {
  const body = encodeBody("delta", delta);
  const added = addedItems(delta, "messages") as readonly Message[];
  // What was appended is new; only a list that was rewritten may hold again what it held before.
  const fresh = delta.lists?.["messages"] === undefined ? [...added.keys()] : freshIn(added, fields);
  const chain = {
    records: before.records + 1,
    bytes: before.bytes + body.byteLength,
    liveBytes: before.liveBytes + Math.max(0, body.byteLength - overwrittenBytes(delta)),
    baseBytes: before.baseBytes,
  };
  const newMessages = fresh.flatMap((index) => added[index] ?? []);
  return { kind: "delta", body, newMessages, chain, ...(fresh.length < added.length && { freshMessages: fresh }) };
}

/** What takes the place of something older: the chain grows by it, the state does not. */
function overwrittenBytes({ append: _, ...rest }: StateDelta): number {
  return Object.keys(rest).length === 0 ? 0 : encodeOwned(rest, "state").length;
}

function baseWouldPay(chain: ChainSize, maxChainRecords: number): boolean {
  if (chain.bytes > 2 * chain.liveBytes + SLACK_BYTES) return true;
  return chain.records > maxChainRecords && chain.bytes >= 2 * chain.baseBytes;
}

/** `{"base":…}` or `{"delta":…}`. */
function encodeBody(kind: "base" | "delta", value: StateFields | StateDelta): Uint8Array {
  return Buffer.from(encodeOwned({ [kind]: value }, "state"), "utf8");
}

/** What an index holds of these messages. */
export const wordsOf = (messages: readonly Message[]): string | undefined => searchableText(messages) || undefined;

/** The same, for a backend that indexes while it appends; the others do not make a save pay for it. */
export const wordsToAppend = (log: ThreadLog, messages: readonly Message[]): string | undefined =>
  log.search === undefined || log.catchUp !== undefined ? undefined : wordsOf(messages);

/** A base that counts as new only the messages that were not there before: found by identity. */
function rebased(before: StateFields, after: StateFields): PlannedBody {
  const freshMessages = freshIn(after.messages, before);
  const newMessages = freshMessages.flatMap((index) => after.messages[index] ?? []);
  return { ...planBase(after, newMessages), freshMessages };
}

/** Positions of the messages that the state before did not hold. */
function freshIn(messages: readonly Message[], before: StateFields): readonly number[] {
  if (messages.length === 0) return [];
  const old = new Set(before.messages);
  return [...messages.keys()].filter((index) => !old.has(messages[index] as Message));
}

/**
 * A base that counts as new those of its messages that are in `fresh`, found by
 * value and from the end; all of them where `fresh` is not given.
 */
export function planBaseHolding(fields: StateFields, fresh: readonly Message[] | undefined): PlannedBody {
  if (fresh === undefined) return planBase(fields, fields.messages);
  const wanted = new Map<string, number>();
  for (const message of fresh) {
    const text = encodeText(message, "message");
    wanted.set(text, (wanted.get(text) ?? 0) + 1);
  }
  const freshMessages: number[] = [];
  for (const [index, message] of [...fields.messages.entries()].reverse()) {
    const text = encodeText(message, "message");
    const left = wanted.get(text) ?? 0;
    if (left > 0) freshMessages.unshift(index);
    wanted.set(text, left - 1);
  }
  const newMessages = freshMessages.flatMap((index) => fields.messages[index] ?? []);
  return { ...planBase(fields, newMessages), freshMessages };
}
