import { StateError } from "../../errors.ts";
import { addedItems, DeltaFold, type StateDelta } from "../../state/delta.ts";
import { EMPTY_FIELDS, type StateFields } from "../../state/fields.ts";
import type { Message } from "../../state/message.ts";
import { decodeParsed, decodeText } from "../../state/values/codec.ts";
import { isPlainObject, own } from "../../state/values/doorway.ts";
import type { LogChain, LogRecord } from "../log/thread-log.ts";
import {
  assertChecksum,
  buildsOnOf,
  isUsualLink,
  type LinkHeader,
  linkHeaders,
  openHeader,
  openRecord,
  type RecordHeader,
} from "./record.ts";
import { inBatches, parseBytes, parseInsides } from "./record-batch.ts";
import { assertAgents, graphsThread, isGraphs } from "./thread-facts.ts";

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
export const rebuild = (chain: LogChain, seq: number): RebuiltCheckpoint => unfold(chain, seq).rebuilt;

/** A state that the records of a chain may continue. */
export interface KnownState {
  readonly seq: number;
  readonly fields: StateFields;
}

/** The same for a chain that may begin behind a state that is already known. */
export const rebuildOn = (known: KnownState, chain: LogChain, seq: number): RebuiltCheckpoint =>
  unfold(chain, seq, { known }).rebuilt;

/** The verified records that make up the state at `seq`, beginning with its base. */
export const recordsOf = (chain: LogChain, seq: number): readonly LogRecord[] => unfold(chain, seq).records;

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
  const { rebuilt, onTheWay } = unfold(chain, later, { keeping: earlier });
  return { earlier: onTheWay, later: rebuilt };
}

interface Unfolded {
  readonly records: readonly LogRecord[];
  readonly rebuilt: RebuiltCheckpoint;
  /** The state at the position that was to be kept, if the chain passes it. */
  readonly onTheWay: RebuiltCheckpoint | undefined;
}

function unfold(
  chain: LogChain,
  seq: number,
  { known, keeping }: { readonly known?: KnownState; readonly keeping?: number } = {},
): Unfolded {
  const records: LogRecord[] = [];
  const bytes: Uint8Array[] = [];
  let fold = known && new DeltaFold(known.fields);
  let before = known?.seq;
  let onTheWay: RebuiltCheckpoint | undefined;
  // Not thrown at once: a later base needs nothing of what is missing before it.
  let gap: StateError | undefined;
  for (const { added, buildsOn, body } of stepsTo(chain, seq, bytes, keeping === undefined)) {
    if (body.base !== undefined) {
      records.length = 0;
      fold = new DeltaFold(body.base);
      onTheWay = undefined;
      gap = undefined;
    } else if (fold === undefined) gap ??= missing(seq, "the base it builds on");
    else if (buildsOn !== before) gap ??= missing(seq, `record ${buildsOn}`);
    else fold.add(body.delta);
    records.push(...added);
    const record = added.at(-1) as LogRecord;
    before = record.seq;
    if (record.seq === keeping && fold !== undefined && gap === undefined) {
      const fields = fold.end();
      onTheWay = { record, header: openHeader(record), fields, bytes };
      fold = new DeltaFold(fields);
    }
  }
  const last = records.at(-1);
  if (last === undefined || last.seq !== seq) throw missing(seq, "it");
  if (fold === undefined || gap !== undefined) throw gap ?? missing(seq, "the base it builds on");
  return { records, rebuilt: { record: last, header: openHeader(last), fields: fold.end(), bytes }, onTheWay };
}

/** One record, or several that are folded as one. */
interface Step {
  readonly added: readonly LogRecord[];
  readonly buildsOn: number;
  readonly body: RecordBody;
}

/**
 * The records up to `seq` that are checkpoints or steps, each verified and
 * decoded. In batches, so that little more than the state is ever held.
 */
function* stepsTo(chain: LogChain, seq: number, bytes: Uint8Array[], mayJoin: boolean): Generator<Step> {
  const records = chain.records.filter((record) => record.seq <= seq);
  for (const batch of inBatches(records, ({ header, body }) => header.length + body.byteLength)) {
    const links: Link[] = [];
    for (const [index, header] of linkHeaders(batch).entries()) {
      if (header.kind !== "base" && header.kind !== "delta") continue;
      if (isGraphs(header.thread)) throw graphsThread();
      const record = batch[index] as LogRecord;
      assertChecksum(record);
      links.push({ record, header });
    }
    const usual = links.findLastIndex(({ header }) => !isUsualLink(header)) + 1;
    const joined = mayJoin ? joinedStep(links.slice(usual), bytes) : undefined;
    yield* singleSteps(joined === undefined ? links : links.slice(0, usual), bytes);
    if (joined !== undefined) yield joined;
  }
}

/** A verified record, and as much of its header as was looked at. */
interface Link {
  readonly record: LogRecord;
  readonly header: LinkHeader;
}

function* singleSteps(links: readonly Link[], bytes: Uint8Array[]): Generator<Step> {
  if (links.length === 0) return;
  for (const [index, body] of bodiesOf(links, bytes).entries()) {
    const { record, header } = links[index] as Link;
    if (body[header.kind as keyof RecordBody] === undefined) throw damagedBody(record);
    yield { added: [record], buildsOn: buildsOnOf(record, header), body };
  }
}

const ONLY_MESSAGES = { begin: Buffer.from('{"delta":{"append":{"messages":['), end: Buffer.from("]}}}") };

/**
 * All of these usual deltas as one, if each only adds messages to the state of the
 * record before: then nobody needs to know which message came with which record.
 */
function joinedStep(links: readonly Link[], bytes: Uint8Array[]): Step | undefined {
  const [first] = links;
  if (first === undefined) return undefined;
  const begin = first.record.seq;
  if (links.some(({ record }, index) => record.seq !== begin + index)) return undefined;
  const added = links.map(({ record }) => record);
  const messages = parseInsides(
    added.map(({ body }) => body),
    ONLY_MESSAGES,
  );
  if (messages === undefined) return undefined;
  const met: Uint8Array[] = [];
  try {
    const delta = { append: { messages: decodeParsed(messages, nameOf(first.record), met, 0) as readonly unknown[] } };
    bytes.push(...met);
    return { added, buildsOn: begin - 1, body: { delta } };
  } catch {
    // One by one, the error names the record.
    return undefined;
  }
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

/** How many levels of a body stand around the values: `{ base: { field } }` and `{ delta: { append: { field } } }`. */
const WRAPPING = { base: 2, delta: 3 };

/** The content of a record. Its checksum is not verified here. */
export function bodyOf(record: LogRecord, bytes: Uint8Array[]): RecordBody {
  const text = textOf(record.body);
  const wrapping = text.startsWith('{"delta":') ? WRAPPING.delta : WRAPPING.base;
  return checkedBody(record, decodeText(text, nameOf(record), bytes, wrapping));
}

/** The same for a batch. */
function bodiesOf(links: readonly Link[], bytes: Uint8Array[]): readonly RecordBody[] {
  const together = parseBytes(links.map(({ record }) => record.body));
  if (together === undefined) return links.map(({ record }) => bodyOf(record, bytes));
  return links.map(({ record, header }, index) => {
    const wrapping = header.kind === "delta" ? WRAPPING.delta : WRAPPING.base;
    return checkedBody(record, decodeParsed(together[index], nameOf(record), bytes, wrapping));
  });
}

function checkedBody(record: LogRecord, decoded: unknown): RecordBody {
  const { base, delta } = (decoded ?? {}) as { readonly base?: unknown; readonly delta?: unknown };
  if (isPlainObject(base)) return { base: own({ ...EMPTY_FIELDS, ...base }) };
  if (isPlainObject(delta)) return { delta };
  throw damagedBody(record);
}

const nameOf = ({ seq }: LogRecord): string => `record ${seq}`;

/** Most drivers hand over Buffers: another view on one would be made for every record of a thread. */
const textOf = (body: Uint8Array): string =>
  (Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)).toString("utf8");

const damagedBody = (record: LogRecord): StateError =>
  new StateError("CORRUPT", `record ${record.seq} holds neither a state nor a change of one`, {
    location: `record ${record.seq}`,
  });

const missing = (seq: number, what: string): StateError =>
  new StateError("CORRUPT", `checkpoint at record ${seq} cannot be rebuilt: ${what} is missing`, {
    location: `record ${seq}`,
  });
