import { encodeText } from "../state/codec.ts";
import { addedItems, diffFields, type StateDelta } from "../state/delta.ts";
import type { Message } from "../state/message.ts";
import { searchableText } from "../state/searchable-text.ts";
import type { StateFields } from "../state/state-fields.ts";
import type { ChainSize } from "./record.ts";

/** The payload of a checkpoint record, and what it means for the chain. */
export interface PlannedBody {
  readonly kind: "base" | "delta";
  readonly body: Uint8Array;
  /** Of the messages that are new here; each message is indexed once in its life. */
  readonly words: string | undefined;
  /** Positions of those messages, on a base that had a predecessor. */
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
  if (before === undefined) return planBase(after, wordsOf(after.messages));
  const delta = diffFields(before.fields, after);
  if (delta === undefined) return rebased(before.fields, after);
  const words = wordsOf(addedItems(delta, "messages") as readonly Message[]);
  const planned = planDelta(delta, words, before);
  return baseWouldPay(planned.chain, maxChainRecords) ? rebased(before.fields, after) : planned;
}

export function planBase(fields: StateFields, words: string | undefined): PlannedBody {
  const body = encodeBody("base", fields);
  const bytes = body.byteLength;
  return { kind: "base", body, words, chain: { records: 1, bytes, liveBytes: bytes, baseBytes: bytes } };
}

function planDelta(delta: StateDelta, words: string | undefined, { fields, chain: before }: PlannedFrom): PlannedBody {
  const body = encodeBody("delta", delta);
  const chain = {
    records: before.records + 1,
    bytes: before.bytes + body.byteLength,
    liveBytes: before.liveBytes + (growsAList(delta, fields) ? body.byteLength : 0),
    baseBytes: before.baseBytes,
  };
  return { kind: "delta", body, words, chain };
}

/** Otherwise it only overwrites: the state does not grow, while the chain does. */
function growsAList(delta: StateDelta, before: StateFields): boolean {
  const lists = before as unknown as Readonly<Record<string, readonly unknown[]>>;
  return Object.entries(delta.lists ?? {}).some(
    ([name, { keep, items }]) => keep + items.length > (lists[name]?.length ?? 0),
  );
}

function baseWouldPay(chain: ChainSize, maxChainRecords: number): boolean {
  if (chain.bytes > 2 * chain.liveBytes + SLACK_BYTES) return true;
  return chain.records > maxChainRecords && chain.bytes >= 2 * chain.baseBytes;
}

/** `{"base":…}` or `{"delta":…}`. The parts are owned and proven already; only the wrapper is new. */
function encodeBody(kind: "base" | "delta", value: StateFields | StateDelta): Uint8Array {
  return Buffer.from(encodeText({ [kind]: value }, "state"), "utf8");
}

export const wordsOf = (messages: readonly Message[]): string | undefined => searchableText(messages) || undefined;

/** A base that counts as new only the messages that were not there before: found by identity. */
function rebased(before: StateFields, after: StateFields): PlannedBody {
  const old = new Set(before.messages);
  const freshMessages = [...after.messages.keys()].filter((index) => !old.has(after.messages[index] as Message));
  const words = wordsOf(after.messages.filter((message) => !old.has(message)));
  return { ...planBase(after, words), freshMessages };
}
