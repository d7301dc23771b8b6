import { StateError } from "../../errors.ts";
import { addedItems, DeltaFold, type StateDelta } from "../../state/delta.ts";
import { EMPTY_FIELDS, type StateFields } from "../../state/fields.ts";
import type { Message } from "../../state/message.ts";
import { decodeParsed, decodeText } from "../../state/values/codec.ts";
import { isPlainObject, own } from "../../state/values/doorway.ts";
import type { LogChain, LogRecord } from "../log/thread-log.ts";
import {
  assertAgents,
  assertChecksum,
  buildsOnOf,
  isUsualLink,
  type LinkHeader,
  linkHeaders,
  openHeader,
  openRecord,
  type RecordHeader,
} from "./record.ts";

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
  assertAgents(openRecord(last).thread);
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
      assertAgents(header.thread);
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
 * record before: then it does not matter which message came with which record.
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

/**
 * Many JSON objects, parsed by few calls: a call for each costs more than its
 * content. Objects that cannot be parsed together are left to the caller, who
 * finds out one by one which of them is damaged.
 */

/** A batch becomes one string. The engine keeps larger ones apart, which costs more than it saves. */
const MOST_BYTES = 64 * 1024;
const scratch = Buffer.allocUnsafeSlow(MOST_BYTES);

/** Items one after another, in batches whose texts take up to `MOST_BYTES`; a larger one is a batch of its own. */
export function* inBatches<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Generator<readonly Item[]> {
  let begin = 0;
  let size = 0;
  for (let index = 0; index < items.length; index++) {
    // One byte for the comma between two, and one for each bracket.
    const own = sizeOf(items[index] as Item) + 2;
    if (size + own > MOST_BYTES && index > begin) {
      yield items.slice(begin, index);
      begin = index;
      size = 0;
    }
    size += own;
  }
  if (begin < items.length) yield items.slice(begin);
}

/** The objects behind these texts; `undefined` if any of them is not one object. */
export function parseTexts(texts: readonly string[]): readonly unknown[] | undefined {
  for (const text of texts) if (!text.startsWith("{") || !text.endsWith("}")) return undefined;
  return parseList(`[${texts.join(",")}]`, texts.length);
}

const [LIST_BEGINS, LIST_ENDS, COMMA, OBJECT_BEGINS, OBJECT_ENDS] = Buffer.from("[],{}");

/** The same for texts in UTF-8. */
export function parseBytes(texts: readonly Uint8Array[]): readonly unknown[] | undefined {
  let end = 0;
  for (const text of texts) {
    // Between others, a text that is no object might pass for a part of them.
    if (text[0] !== OBJECT_BEGINS || text.at(-1) !== OBJECT_ENDS) return undefined;
    if (end + text.byteLength + 2 > MOST_BYTES) return undefined;
    scratch[end] = (end === 0 ? LIST_BEGINS : COMMA) as number;
    scratch.set(text, end + 1);
    end += text.byteLength + 1;
  }
  scratch[end] = LIST_ENDS as number;
  return parseList(scratch.toString("utf8", 0, end + 1), texts.length);
}

/** What stands around the items of a list in each of several texts. */
export interface Outside {
  readonly begin: Uint8Array;
  readonly end: Uint8Array;
}

/**
 * The items of all these lists as one list; `undefined` if any of the texts, which
 * are JSON, is not one list within `outside`. A text that ends its list early ends
 * the common one early, too, and that is not JSON.
 */
export function parseInsides(texts: readonly Uint8Array[], { begin, end }: Outside): readonly unknown[] | undefined {
  let used = 0;
  for (const text of texts) {
    const last = text.length - end.length;
    const inside = last - begin.length;
    if (inside <= 0 || used + inside + 2 > MOST_BYTES) return undefined;
    if (!isAt(text, 0, begin) || !isAt(text, last, end)) return undefined;
    scratch[used] = (used === 0 ? LIST_BEGINS : COMMA) as number;
    scratch.set(text.subarray(begin.length, last), used + 1);
    used += inside + 1;
  }
  scratch[used] = LIST_ENDS as number;
  return parseList(scratch.toString("utf8", 0, used + 1));
}

/** `length` and not `byteLength`: the engine calls a function for the other one, each time. */
function isAt(text: Uint8Array, from: number, part: Uint8Array): boolean {
  const { length } = part;
  for (let index = 0; index < length; index++) if (text[from + index] !== part[index]) return false;
  return true;
}

function parseList(text: string, length?: number): readonly unknown[] | undefined {
  try {
    const list = JSON.parse(text) as readonly unknown[];
    return length === undefined || list.length === length ? list : undefined;
  } catch {
    return undefined;
  }
}
