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
  /** The byte arrays in those fields, and perhaps some that were there before. */
  readonly bytes: readonly Uint8Array[];
}

/** A body as it is stored: the whole state, or what changed. */
export type RecordBody =
  | { readonly base: StateFields; readonly delta?: undefined }
  | { readonly delta: StateDelta; readonly base?: undefined };

/** The state as of position `seq`. Verifies every record it uses, and that no record between them is missing. */
export const rebuild = (chain: LogChain, seq: number): RebuiltCheckpoint => rebuiltFrom(unfold(chain, seq));

/** A state that the records of a chain may continue. */
export interface KnownState {
  readonly seq: number;
  readonly fields: StateFields;
}

/** The same for a chain that may begin behind a state that is already known. */
export const rebuildOn = (known: KnownState, chain: LogChain, seq: number): RebuiltCheckpoint =>
  rebuiltFrom(unfold(chain, seq, known));

const rebuiltFrom = ({ last, base, deltas, bytes }: Unfolded): RebuiltCheckpoint => ({
  ...last,
  fields: deltas.length === 0 ? base : applyDeltas(base, deltas),
  bytes,
});

/** The verified records that make up the state at `seq`, beginning with its base. */
export const recordsOf = (chain: LogChain, seq: number): readonly LogRecord[] =>
  unfold(chain, seq).links.map(({ record }) => record);

/**
 * The position of the newest checkpoint according to the tail, verified because
 * everything else depends on it. 0 if there is no checkpoint.
 */
export function headOf({ tail, records }: LogChain): number {
  const last = records.at(-1);
  if (last?.seq !== tail.seq) throw missing(tail.seq, "it");
  assertAgents(last, openRecord(last));
  return last.head;
}

/**
 * Two checkpoints of one chain, whose states share their common parts; `earlier`
 * is missing if the chain begins after it.
 */
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

function unfold(chain: LogChain, seq: number, known?: KnownState): Unfolded {
  const links = linksTo(chain, seq);
  const last = links.at(-1);
  const [first] = links;
  if (first === undefined || last === undefined) throw missing(seq, "it");
  const bytes: Uint8Array[] = [];
  const continued = first.header.kind === "delta" ? known : undefined;
  const base = continued?.fields ?? bodyOf(first.record, bytes).base;
  if (base === undefined) throw missing(seq, "the base it builds on");
  const deltas: StateDelta[] = [];
  let before = continued?.seq ?? first.record.seq;
  for (const { record, header } of continued === undefined ? links.slice(1) : links) {
    if (header.buildsOn !== before) throw missing(seq, `record ${header.buildsOn}`);
    const { delta } = bodyOf(record, bytes);
    if (delta === undefined) throw damagedBody(record);
    deltas.push(delta);
    before = record.seq;
  }
  return { links, last, base, deltas, bytes };
}

interface Link {
  readonly record: LogRecord;
  readonly header: RecordHeader;
}

/** The records from the last base at or before `seq` up to `seq`, without those that are not checkpoints or steps. */
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
 * The messages that a record added to its thread, which is what an index holds
 * for it. `isFirst`: nothing came before, so everything in it is new.
 */
export function newMessagesOf(record: LogRecord, isFirst = false): readonly Message[] {
  const { freshMessages } = openRecord(record);
  const { base, delta } = bodyOf(record, []);
  const held = delta === undefined ? base.messages : (addedItems(delta, "messages") as readonly Message[]);
  return freshMessages === undefined || isFirst ? held : freshMessages.flatMap((index) => held[index] ?? []);
}

/** The content of a record. Its checksum is not verified here. */
export function bodyOf(record: LogRecord, bytes: Uint8Array[]): RecordBody {
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
