import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { KnownPlace, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import type { Packed } from "../values/packing.ts";
import { deltaOf, type PackedParts } from "../values/parts.ts";
import { addCall, Epoch, INTERRUPT, type KnownCheckpoint, type KnownWrite } from "./epoch.ts";
import { type CheckpointPlace, checkpointName, newestName, placeOf, type WriteCall } from "./graph-record.ts";

/** What a saver is told to write, and the record that comes of it. */

/** A checkpoint as this saver read or put it. */
export interface Seen {
  /** How many erasures its thread had. */
  erasures: number | undefined;
  /** The record that it was read from or written as; `undefined` until it is written. */
  place: KnownPlace | undefined;
  /** The record of the nearest ancestor that was written when this was put. */
  readonly madeOf?: KnownPlace | undefined;
}

/** A checkpoint that waits to be written. */
export interface PutOperation {
  readonly kind: "put";
  readonly ns: string;
  readonly id: string;
  readonly parentId: string | undefined;
  readonly parts: PackedParts;
  readonly metadata: string | undefined;
  readonly createdAt: number;
  /** Decides about parts once the parent is known. */
  readonly reconcile?: Reconcile;
  /** With "refuse": a put that is not a child of the newest is a conflict, unless its parent was requested by id. */
  readonly mustFollowNewest?: boolean;
  /** The parent, as it was seen. */
  readonly seen?: Seen;
}

/** Writes that wait to be written. */
export interface WritesOperation {
  readonly kind: "writes";
  readonly ns: string;
  readonly id: string;
  readonly taskId: string;
  readonly replaces: boolean;
  readonly writes: readonly { readonly channel: string; readonly index: number; readonly packed: Packed }[];
  /** The checkpoint that they belong to, as it was seen. */
  readonly seen?: Seen;
  /** Refuses them where the writes that are there by now are not those that they were made for. */
  readonly check?: (known: readonly KnownWrite[]) => void;
}

export type Operation = PutOperation | WritesOperation;

/** The state of the thread when a put is about to be written. */
export interface Surroundings {
  /** Whether the put names a parent, be it there or not. */
  readonly hasParent: boolean;
  /** The texts of the parent's parts, by their keys. */
  readonly parentTexts: ReadonlyMap<string, string>;
  /** A part of the parent, to be put as it is. */
  readonly parentPart: (key: string) => Packed | undefined;
  /** Whether any checkpoint of the namespace that is at hand has this text there and has that other part too. */
  readonly isKnown: (key: string, text: string, alsoHas: string) => boolean;
}

/** The parts that are to be written, in place of those that were given. */
export type Reconcile = (given: PackedParts, surroundings: Surroundings) => PackedParts;

/** What was read of older epochs, by the name it was asked for. Good until the base moves. */
export type OlderEpochs = Map<string, Epoch | undefined>;

/** What a record is planned on. */
export interface Ground {
  readonly context: CheckpointContext;
  readonly threadId: string;
  /** Takes the record in. */
  readonly epoch: Epoch;
  /** How much a reader may fetch beside the state before a new base is written. */
  readonly slackBytes: number;
  readonly older: OlderEpochs;
}

/** A record that is ready to be appended, and the epoch it belongs to: a new one where it is a base. */
export interface Planned {
  readonly record: LogRecord;
  readonly epoch: Epoch;
}

/** A new base is written when the range that a reader fetches is this many times the state. */
const MOST_RANGE_PER_STATE = 3;

const NO_PARTS: ReadonlyMap<string, string> = new Map();

export async function planPut(ground: Ground, put: PutOperation): Promise<Planned> {
  const { context, epoch } = ground;
  const isGreatest = put.id > epoch.greatest && put.mustFollowNewest !== true;
  const newest = isGreatest ? undefined : await newestId(ground, put.ns);
  if (put.mustFollowNewest === true && newest !== put.parentId && newest !== undefined) throw overtaken(put, newest);
  const parent = put.parentId === undefined ? undefined : epoch.find({ ns: put.ns, id: put.parentId });
  const given = put.reconcile === undefined ? put.parts : await reconciled(ground, put, parent);
  const older = isGreatest ? undefined : await olderEpoch(ground, put);
  let target = epoch;
  let { mark } = epoch.pool;
  let { texts, live } = interned(epoch, given);
  const isBase = isTimeForBase(ground, live);
  if (isBase) {
    // The same checkpoint as the first of a new epoch, with nothing that it shares.
    epoch.pool.rollBack(mark);
    target = nextEpoch(epoch);
    mark = target.pool.mark;
    ({ texts, live } = interned(target, given));
  }
  const on = isBase ? undefined : parent;
  const source = older ?? (isBase ? epoch : undefined);
  const record = target.append(context, put, mark, {
    checkpoint: { on: on?.seq ?? 0, parts: deltaOf(on === undefined ? NO_PARTS : epoch.partsOf(on), texts) },
    writes: source === undefined ? [] : callsOf(relinked(source, target, source.writesOf(put))),
    isNewest: newest === undefined || put.id >= newest,
    put,
    live,
    isNew: !isBase && (parent !== undefined || put.parentId === undefined),
  });
  return { record, epoch: target };
}

function nextEpoch({ generation, tail, head, greatest, thread }: Epoch): Epoch {
  return Object.assign(new Epoch(generation), { base: tail + 1, tail, head, greatest, thread });
}

/** The texts of parts, and about how many bytes they are with all their lists written out. */
function interned({ pool }: Epoch, given: PackedParts): { readonly texts: Map<string, string>; readonly live: number } {
  const texts = new Map<string, string>();
  let live = 0;
  for (const [key, packed] of given) {
    const text = pool.intern(packed);
    texts.set(key, text);
    live += pool.weightOf(text);
  }
  return { texts, live };
}

function isTimeForBase({ context, epoch, slackBytes }: Ground, live: number): boolean {
  const { range, fresh, records, early, base, tail } = epoch;
  const { maxChainRecords, maxRecordBytes } = context.log.capabilities;
  if (tail < base || live > maxRecordBytes / 2) return false;
  if (records >= maxChainRecords && fresh >= live) return true;
  // At least half of what is read again must have been new, or namespaces would restate one another for ever.
  return range > MOST_RANGE_PER_STATE * (live + early) + slackBytes && fresh * 2 >= range;
}

/** `undefined` where the writes are there already. */
export async function planWrites(ground: Ground, operation: WritesOperation): Promise<Planned | undefined> {
  const { context, epoch } = ground;
  const older = await olderEpoch(ground, operation);
  const { mark } = epoch.pool;
  const { taskId, replaces } = operation;
  operation.check?.((older ?? epoch).writesOf(operation));
  const writes = operation.writes.map(({ channel, index, packed }) => ({
    channel,
    index,
    text: epoch.pool.intern(packed),
  }));
  const call = { taskId, replaces, writes };
  if (changesNothing(epoch.writesOf(operation), call)) {
    epoch.pool.rollBack(mark);
    return undefined;
  }
  const copied = older?.find(operation);
  const carried = older === undefined ? [] : callsOf(relinked(older, epoch, older.writesOf(operation)));
  const newest = copied === undefined && !epoch.knows(operation) ? undefined : await newestId(ground, operation.ns);
  const content = { writes: [...carried, call], isNewest: newest === operation.id, live: 0 };
  const asks = operation.ns === "" && newest === operation.id && writes.some(({ channel }) => channel === INTERRUPT);
  const here = asks ? epoch.find(operation) : undefined;
  if (here !== undefined) {
    // The checkpoint once more, as a change of nothing: its record is what lists look at, and now it waits.
    const parts = epoch.partsOf(here);
    const checkpoint = { on: here.seq, parts: deltaOf(parts, parts) };
    return {
      record: epoch.append(context, operation, mark, { ...content, checkpoint, put: here, isNew: true }),
      epoch,
    };
  }
  if (older === undefined || copied === undefined) {
    const record = epoch.append(context, operation, mark, { ...content, checkpoint: undefined, isNew: true });
    return { record, epoch };
  }
  const checkpoint = { on: 0, parts: deltaOf(NO_PARTS, relinkedParts(older, epoch, copied)) };
  return {
    record: epoch.append(context, operation, mark, { ...content, checkpoint, put: copied, isNew: false }),
    epoch,
  };
}

/** What older records hold of a checkpoint that no record since the base is about. */
async function olderEpoch(
  { context, threadId, epoch, older }: Ground,
  place: CheckpointPlace,
): Promise<Epoch | undefined> {
  if (epoch.knows(place) || place.id > epoch.greatest) return undefined;
  const name = checkpointName(place.ns, place.id);
  if (!older.has(name)) {
    const chain = await context.call({ operation: "readCheckpoint", threadId }, (log) =>
      log.readCheckpoint(threadId, name),
    );
    older.set(name, chain && Epoch.of(chain));
  }
  return older.get(name);
}

/** The id of the newest checkpoint of a namespace as of now. `undefined` where there is none. */
async function newestId({ context, threadId, epoch }: Ground, ns: string): Promise<string | undefined> {
  const known = epoch.newestOf(ns);
  // From the first record on, everything is at hand.
  if (known !== undefined || epoch.base === 1) return known;
  const entry = await context.call({ operation: "entry", threadId }, (log) => log.entry(threadId, newestName(ns)));
  return entry && placeOf(entry)?.id;
}

/** The parts of a put as its adapter decides about them, now that the parent is known. */
async function reconciled(
  ground: Ground,
  put: PutOperation,
  parent: KnownCheckpoint | undefined,
): Promise<PackedParts> {
  const { reconcile, parts: given, ns, parentId } = put;
  if (reconcile === undefined) return given;
  const { epoch } = ground;
  let [from, known] = [epoch, parent] as [Epoch | undefined, KnownCheckpoint | undefined];
  if (known === undefined && parentId !== undefined) {
    from = await olderEpoch(ground, { ns, id: parentId });
    known = from?.find({ ns, id: parentId });
  }
  const parts = from === undefined || known === undefined ? NO_PARTS : from.partsOf(known);
  return reconcile(given, {
    hasParent: parentId !== undefined,
    parentTexts: parts,
    parentPart: (key) => {
      const text = parts.get(key);
      return text === undefined ? undefined : from?.pool.unlink(text);
    },
    isKnown: (key, text, alsoHas) => {
      for (const other of epoch.inNamespace(ns)) {
        const texts = epoch.partsOf(other);
        if (texts.get(key) === text && texts.has(alsoHas)) return true;
      }
      return false;
    },
  });
}

/** Writes as calls that make them again. */
export const callsOf = (writes: readonly KnownWrite[]): readonly WriteCall[] =>
  writes.map(({ taskId, ...write }) => ({ taskId, replaces: false, writes: [write] }));

/** Writes of an older epoch, with what they share taken into this one. */
export function relinked(older: Epoch, epoch: Epoch, writes: readonly KnownWrite[]): readonly KnownWrite[] {
  const done = new Map<number, Packed>();
  return writes.map((write) => ({ ...write, text: epoch.pool.intern(older.pool.unlink(write.text, done)) }));
}

/** The same for the parts of a checkpoint. */
export function relinkedParts(older: Epoch, epoch: Epoch, known: KnownCheckpoint): ReadonlyMap<string, string> {
  const done = new Map<number, Packed>();
  return new Map(
    [...older.partsOf(known)].map(([key, text]) => [key, epoch.pool.intern(older.pool.unlink(text, done))]),
  );
}

/** A call that was made before: a retry, or one that came too late. */
function changesNothing(known: readonly KnownWrite[], call: WriteCall): boolean {
  const before = new Map(known.map((write) => [JSON.stringify([write.taskId, write.index]), write]));
  const after = new Map(before);
  addCall(after, call, 0);
  if (after.size !== before.size) return false;
  for (const [key, write] of after) {
    const old = before.get(key);
    if (old?.text !== write.text || old.channel !== write.channel) return false;
  }
  return true;
}

const overtaken = (put: PutOperation, newest: string): StateError =>
  new StateError(
    "CONFLICT",
    `checkpoint ${JSON.stringify(put.id)} follows ${JSON.stringify(put.parentId ?? null)}, and the newest is ${JSON.stringify(newest)}: another run writes to the thread. Run again from its newest state; nothing was written`,
    { checkpointId: put.id },
  );
