import { StateError } from "../errors.ts";
import { decodeText } from "../state/codec.ts";
import { addedItems, applyDeltas, type StateDelta } from "../state/delta.ts";
import { isPlainObject, own } from "../state/immutable.ts";
import type { Message } from "../state/message.ts";
import { EMPTY_FIELDS, type StateFields } from "../state/state-fields.ts";
import { assertProven, openHeader, openRecord, type RecordHeader } from "./record.ts";
import { assertAgents } from "./thread-kind.ts";
import type { LogChain, LogRecord } from "./thread-log.ts";

/** One checkpoint, rebuilt. */
export interface RebuiltCheckpoint {
  readonly record: LogRecord;
  readonly header: RecordHeader;
  readonly fields: StateFields;
  /** The bytes that lie in those fields, and perhaps some that did so before. */
  readonly bytes: readonly Uint8Array[];
}

/** A body as it is stored: the whole state, or what changed. */
export type RecordBody =
  | { readonly base: StateFields; readonly delta?: undefined }
  | { readonly delta: StateDelta; readonly base?: undefined };

/** The state as of position `seq`. Proves every record it uses, and that none is missing between them. */
export function rebuild(chain: LogChain, seq: number): RebuiltCheckpoint {
  const { last, base, deltas, bytes } = unfold(chain, seq);
  return { ...last, fields: deltas.length === 0 ? base : applyDeltas(base, deltas), bytes };
}

/** The records that the state at `seq` is made of, from its base on; each is proven. */
export const recordsOf = (chain: LogChain, seq: number): readonly LogRecord[] =>
  unfold(chain, seq).links.map(({ record }) => record);

/** The position of the newest checkpoint, as the tail says it; proven, since all else depends on it. 0 when there is none. */
export function headOf({ tail, records }: LogChain): number {
  const last = records.at(-1);
  if (last?.seq !== tail.seq) throw missing(tail.seq, "it");
  assertAgents(last, openRecord(last));
  return last.head;
}

/** Two checkpoints of one chain whose states share what they have in common; `earlier` is missing where the chain begins after it. */
export function rebuildPair(
  chain: LogChain,
  earlier: number,
  later: number,
): { readonly earlier: RebuiltCheckpoint | undefined; readonly later: RebuiltCheckpoint } {
  const { last, base, deltas, links, bytes } = unfold(chain, later);
  const split = links.findIndex((link) => link.record.seq === earlier);
  const link = links[split];
  if (link === undefined) return { earlier: undefined, later: rebuild(chain, later) };
  const fields = applyDeltas(base, deltas.slice(0, split));
  return {
    earlier: { ...link, fields, bytes },
    later: { ...last, fields: applyDeltas(fields, deltas.slice(split)), bytes },
  };
}

interface Unfolded {
  readonly links: readonly Link[];
  readonly last: Link;
  readonly base: StateFields;
  /** `deltas[i]` leads to the state of `links[i + 1]`. */
  readonly deltas: readonly StateDelta[];
  readonly bytes: readonly Uint8Array[];
}

function unfold(chain: LogChain, seq: number): Unfolded {
  const links = linksTo(chain, seq);
  const last = links.at(-1);
  const [first] = links;
  if (first === undefined || last === undefined) throw missing(seq, "it");
  const bytes: Uint8Array[] = [];
  const { base } = bodyOf(first.record, bytes);
  if (base === undefined) throw missing(seq, "the base it builds on");
  const deltas: StateDelta[] = [];
  for (const [index, link] of links.slice(1).entries()) {
    const before = links[index]?.record.seq;
    if (link.header.buildsOn !== before) throw missing(seq, `record ${link.header.buildsOn}`);
    const { delta } = bodyOf(link.record, bytes);
    if (delta === undefined) throw damagedBody(link.record);
    deltas.push(delta);
  }
  return { links, last, base, deltas, bytes };
}

interface Link {
  readonly record: LogRecord;
  readonly header: RecordHeader;
}

/** The records from the last base at or before `seq` up to it, without those that are no checkpoints. */
function linksTo(chain: LogChain, seq: number): Link[] {
  const links: Link[] = [];
  for (const record of chain.records) {
    if (record.seq > seq) break;
    const header = openHeader(record);
    if (header.kind === "base") links.length = 0;
    if (header.kind !== "base" && header.kind !== "delta") continue;
    assertAgents(record, header);
    assertProven(record);
    links.push({ record, header });
  }
  return links.at(-1)?.record.seq === seq ? links : [];
}

/**
 * The messages a record brought into its thread: what the index of a backend that
 * has one holds of it. `isFirst`: nothing came before, so that all it holds is new.
 */
export function newMessagesOf(record: LogRecord, isFirst = false): readonly Message[] {
  const { freshMessages } = openRecord(record);
  const { base, delta } = bodyOf(record, []);
  const held = delta === undefined ? base.messages : (addedItems(delta, "messages") as readonly Message[]);
  return freshMessages === undefined || isFirst ? held : freshMessages.flatMap((index) => held[index] ?? []);
}

function bodyOf(record: LogRecord, bytes: Uint8Array[]): RecordBody {
  const text = Buffer.from(record.body.buffer, record.body.byteOffset, record.body.byteLength).toString("utf8");
  const body = decodeText(text, `record ${record.seq}`, bytes) as Partial<RecordBody> | null;
  if (isPlainObject(body?.base)) return { base: own({ ...EMPTY_FIELDS, ...body.base }) };
  if (isPlainObject(body?.delta)) return { delta: body.delta };
  throw damagedBody(record);
}

const damagedBody = (record: LogRecord): StateError =>
  new StateError("CORRUPT", `record ${record.seq} holds neither a state nor a change of one`, {
    location: `record ${record.seq}`,
  });

const missing = (seq: number, what: string): StateError =>
  new StateError("CORRUPT", `checkpoint at record ${seq} cannot be rebuilt: ${what} is missing`, {
    location: `record ${seq}`,
  });
