import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { KnownPlace, LogChain, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { writtenFacts } from "../../checkpoint/people/erasure-mark.ts";
import {
  assertChecksum,
  type GraphFacts,
  openHeader,
  type RecordFields,
  type ThreadFacts,
  withChecksum,
} from "../../checkpoint/record/record.ts";
import type { Tail } from "../../checkpoint/thread/thread.ts";
import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import type { Standing } from "../../state/tool-calls.ts";
import { applied, type PartsDelta } from "../values/parts.ts";
import { Pool, type PoolMark } from "../values/pool.ts";
import { agentsThread } from "./graph-kind.ts";
import {
  type CheckpointBody,
  type CheckpointPlace,
  checkpointName,
  decodeBody,
  encodeBody,
  isNewest,
  newestName,
  placeOf,
  type StoredWrite,
  type WriteCall,
  wordsOf,
} from "./graph-record.ts";

/** A checkpoint as a record put it. */
export interface KnownCheckpoint extends CheckpointPlace {
  readonly seq: number;
  readonly writeId: string;
  readonly parentId: string | undefined;
  readonly metadata: string | undefined;
  readonly createdAt: number;
  readonly on: number;
  readonly delta: PartsDelta;
}

export interface KnownWrite extends StoredWrite {
  readonly taskId: string;
  /** The record that it came with. */
  readonly seq: number;
}

interface WrittenPlace {
  readonly place: CheckpointPlace;
  /** What its writes weigh while their checkpoint has not come. */
  readonly early: number;
  readonly kept: ReadonlyMap<string, KnownWrite>;
}

/** What a record is to hold. */
export interface NewContent {
  readonly checkpoint: CheckpointBody | undefined;
  readonly writes: readonly WriteCall[];
  /** Whether the checkpoint is the newest of its namespace. */
  readonly isNewest: boolean;
  /** Present if the record puts the checkpoint and so is listed. */
  readonly put?: {
    readonly parentId: string | undefined;
    readonly metadata: string | undefined;
    readonly createdAt: number;
  };
  /**
   * The metadata of a record that puts no checkpoint: if only waiting writes are left, it alone says whom the
   * thread is about.
   */
  readonly metadata?: string | undefined;
  /** What a reader needs of the range, in bytes. */
  readonly live: number;
  /** Whether it brings something that was not in the thread before. */
  readonly isNew: boolean;
  /** Whether it stands for the thread. @default the newest of the root does, and whatever is first */
  readonly isHead?: boolean;
}

/** What an epoch keeps of a record. */
interface KeptContent extends CheckpointPlace {
  readonly checkpoint?: CheckpointBody | undefined;
  readonly writes: readonly WriteCall[];
  readonly weight: number;
  readonly isNewest: boolean;
}

/** About what a record weighs beside its body. */
const RECORD_WEIGHT = 300;

/** A thread without records. */
const UNWRITTEN = { tail: 0, writeId: "", head: 0, base: 1, greatest: "", range: 0, fresh: 0, records: 0, early: 0 };

/**
 * The records from a base on, taken in one after another: the pool that they
 * share, and the checkpoints and writes that they hold. What lies before the base
 * is not in it, and nothing in it needs that.
 */
export class Epoch {
  readonly generation: string;
  readonly pool: Pool = new Pool();
  base: number = UNWRITTEN.base;
  tail: number = UNWRITTEN.tail;
  /** The write id of the record at the tail. */
  writeId: string = UNWRITTEN.writeId;
  head: number = UNWRITTEN.head;
  /** The greatest checkpoint id that any record of the thread named: a greater one is new. */
  greatest: string = UNWRITTEN.greatest;
  /** Bytes since the base, and how many of them brought something new. */
  range: number = UNWRITTEN.range;
  fresh: number = UNWRITTEN.fresh;
  records: number = UNWRITTEN.records;
  /** What writes weigh that are here before their checkpoints: those will want to share it. */
  early: number = UNWRITTEN.early;
  thread: ThreadFacts = { kind: "graph" };
  readonly #checkpoints = new Map<number, KnownCheckpoint>();
  readonly #byName = new Map<string, KnownCheckpoint>();
  readonly #newest = new Map<string, string>();
  readonly #writes = new Map<string, WrittenPlace>();
  readonly #resolved = new Map<number, ReadonlyMap<string, string>>();
  #undo: (() => void)[] | undefined;
  #start: (() => void) | undefined;

  constructor(generation: string) {
    this.generation = generation;
  }

  /** The thread's newest record, as far as it is here. */
  get place(): KnownPlace {
    return { generation: this.generation, seq: this.tail, writeId: this.writeId };
  }

  /** The same with all that the next record is made from; `undefined` before the first one. */
  get end(): Tail | undefined {
    if (this.tail === 0) return undefined;
    const { base, head, thread } = this;
    return { ...this.place, base, head, thread, checkpointId: undefined, isMark: false };
  }

  static of(chain: LogChain): Epoch {
    const epoch = new Epoch(chain.generation);
    for (const record of chain.records) epoch.take(record);
    return epoch;
  }

  /** Takes in a record that was read. */
  take(record: LogRecord): void {
    const header = openHeader(record);
    if (header.thread?.kind !== "graph") throw agentsThread();
    assertChecksum(record);
    const place = placeOf(record, header);
    if (place === undefined) {
      // A mark, such as a lease, moves the tail and says nothing of the graph.
      this.#moveTo(record, header.thread);
      return;
    }
    const body = decodeBody(record.body, record.seq);
    this.pool.add(body.pool);
    const weight = header.bodyBytes;
    this.#keep(record, header, { ...body, ...place, weight, isNewest: isNewest(record, place.ns) });
  }

  /** The next record of the thread, which is taken in. `mark` is where the pool stood before the content was interned. */
  append(context: CheckpointContext, { ns, id }: CheckpointPlace, mark: PoolMark, content: NewContent): LogRecord {
    const { checkpoint, writes, isNewest: isNewestOfAll, put, live, isNew } = content;
    const name = checkpointName(ns, id);
    const seq = this.tail + 1;
    const brought = { pool: this.pool.since(mark), writes, ...(checkpoint !== undefined && { checkpoint }) };
    const body = encodeBody(brought);
    const weight = body.byteLength + RECORD_WEIGHT;
    const isBase = seq === this.base;
    const graph: GraphFacts = {
      // The name says both, unless it would be too long.
      ...(name.startsWith("///") && { ns, id }),
      ...(put?.parentId !== undefined && { parent: put.parentId }),
      ...(id < this.greatest && { greatest: this.greatest }),
      fresh: this.fresh + (isNew && !isBase ? weight : 0),
    };
    const names = [...(put === undefined ? [name] : []), ...(isNewestOfAll ? [newestName(ns)] : [])];
    const standing = put === undefined || ns !== "" ? undefined : this.#standingWith({ ns, id }, writes, seq);
    const isHead = content.isHead ?? (put !== undefined && ((ns === "" && isNewestOfAll) || this.head === 0));
    const { thread } = this;
    const fields: RecordFields = {
      kind: isBase ? "base" : "delta",
      createdAt: put?.createdAt ?? context.now(),
      buildsOn: isBase ? 0 : seq - 1,
      schema: 0,
      messageCount: 0,
      chain: { records: this.records + 1, bytes: this.range + weight, liveBytes: live, baseBytes: isBase ? weight : 0 },
      ...(standing !== undefined && { standing }),
      graph,
      thread: thread.erasing === undefined ? thread : (writtenFacts(thread) ?? thread),
    };
    const record = withChecksum({
      seq,
      writeId: newId(),
      base: this.base,
      head: isHead ? seq : this.head,
      checkpointId: put === undefined ? undefined : name,
      ...(names.length > 0 && { names }),
      metadata: put === undefined ? content.metadata : put.metadata,
      body,
      // For a backend that indexes while it appends.
      words: context.log.capabilities.search === "with words" ? wordsOf(brought) : undefined,
      fields,
    });
    this.#keep(record, fields, { checkpoint, writes, ns, id, weight: body.byteLength, isNewest: isNewestOfAll });
    return record;
  }

  /** What a checkpoint waits for, with the writes of its next record. */
  #standingWith(place: CheckpointPlace, writes: readonly WriteCall[], seq: number): Standing | undefined {
    const known = this.#writes.get(checkpointName(place.ns, place.id))?.kept;
    if (known === undefined && writes.length === 0) return undefined;
    const kept = new Map(known);
    for (const call of writes) addCall(kept, call, seq);
    return standingOfWrites([...kept.values()]);
  }

  /** The way back to here. The first one begins what `commit` ends, or `rollBack` takes back as a whole. */
  savepoint(): () => void {
    const { base, tail, writeId, head, greatest, range, fresh, records, early, thread } = this;
    const { mark } = this.pool;
    this.#undo ??= [];
    const undone = this.#undo.length;
    const goBack = (): void => {
      for (const undo of this.#undo?.splice(undone).toReversed() ?? []) undo();
      Object.assign(this, { base, tail, writeId, head, greatest, range, fresh, records, early, thread });
      this.pool.rollBack(mark);
      for (const seq of this.#resolved.keys()) if (seq > tail) this.#resolved.delete(seq);
    };
    this.#start ??= goBack;
    return goBack;
  }

  commit(): void {
    this.#undo = undefined;
    this.#start = undefined;
  }

  rollBack(): void {
    this.#start?.();
    this.commit();
  }

  #moveTo({ seq, writeId, base, head }: LogRecord, thread: ThreadFacts): void {
    this.tail = seq;
    this.writeId = writeId;
    this.base = base;
    this.head = head;
    this.thread = thread;
  }

  /** Takes in a record whose additions are in the pool already. */
  #keep(
    record: LogRecord,
    { chain, graph, thread, createdAt }: RecordFields,
    { ns, id, checkpoint, writes, weight, isNewest: isNewestOfAll }: KeptContent,
  ): void {
    this.#moveTo(record, thread ?? this.thread);
    this.range = chain.bytes;
    this.records = chain.records;
    this.fresh = graph?.fresh ?? 0;
    this.greatest = graph?.greatest ?? id;
    const name = checkpointName(ns, id);
    if (checkpoint !== undefined) {
      const { seq, writeId, metadata } = record;
      const { on, parts: delta } = checkpoint;
      const known = { ns, id, seq, writeId, parentId: graph?.parent, metadata, createdAt, on, delta };
      this.#set(this.#checkpoints, seq, known);
      this.#set(this.#byName, name, known);
    }
    if (isNewestOfAll) this.#set(this.#newest, ns, id);
    const before = this.#writes.get(name);
    const kept = new Map(before?.kept);
    for (const call of writes) addCall(kept, call, record.seq);
    const early = this.#byName.has(name) ? 0 : (before?.early ?? 0) + weight;
    this.early += early - (before?.early ?? 0);
    this.#set(this.#writes, name, { place: { ns, id }, kept, early });
  }

  #set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    if (this.#undo !== undefined) {
      const [wasThere, before] = [map.has(key), map.get(key)];
      this.#undo.push(() => {
        if (wasThere) map.set(key, before as Value);
        else map.delete(key);
      });
    }
    map.set(key, value);
  }

  find({ ns, id }: CheckpointPlace): KnownCheckpoint | undefined {
    return this.#byName.get(checkpointName(ns, id));
  }

  /** Whether any record since the base is about this checkpoint: then everything about it is here. */
  knows({ ns, id }: CheckpointPlace): boolean {
    return this.#writes.has(checkpointName(ns, id));
  }

  /** The id of the newest checkpoint of a namespace, where a record since the base says so. */
  newestOf(ns: string): string | undefined {
    return this.#newest.get(ns);
  }

  writesOf({ ns, id }: CheckpointPlace): readonly KnownWrite[] {
    return [...(this.#writes.get(checkpointName(ns, id))?.kept.values() ?? [])];
  }

  /** Every checkpoint of a namespace that is here, the last one put first. */
  *inNamespace(ns: string): Generator<KnownCheckpoint> {
    for (const known of [...this.#byName.values()].reverse()) if (known.ns === ns) yield known;
  }

  /** Every place that a record since the base is about, also those that only have writes. */
  places(): readonly CheckpointPlace[] {
    return [...this.#writes.values()].map(({ place }) => place);
  }

  /** The texts of a checkpoint's parts, by path. */
  partsOf(known: KnownCheckpoint): ReadonlyMap<string, string> {
    const line: KnownCheckpoint[] = [];
    let at: KnownCheckpoint | undefined = known;
    let parts: ReadonlyMap<string, string> | undefined;
    while (parts === undefined) {
      if (at === undefined) throw missing(known);
      parts = this.#resolved.get(at.seq) ?? (at.on === 0 ? applied(new Map(), at.delta) : undefined);
      if (parts !== undefined) {
        this.#resolved.set(at.seq, parts);
        break;
      }
      line.push(at);
      at = this.#checkpoints.get(at.on);
    }
    for (const each of line.reverse()) {
      parts = applied(parts, each.delta);
      this.#resolved.set(each.seq, parts);
      if (this.#resolved.size > MOST_RESOLVED) this.#resolved.delete(this.#resolved.keys().next().value ?? 0);
    }
    return parts;
  }
}

/** Parts that are worth keeping at hand: a child needs its parent's, a list needs them in order. */
const MOST_RESOLVED = 256;

/** First write wins; a call of nothing but special channels replaces. */
export function addCall(kept: Map<string, KnownWrite>, { taskId, replaces, writes }: WriteCall, seq: number): void {
  for (const write of writes) {
    const key = JSON.stringify([taskId, write.index]);
    if (replaces || !kept.has(key)) kept.set(key, { ...write, taskId, seq });
  }
}

const missing = ({ seq, on }: KnownCheckpoint): StateError =>
  new StateError("CORRUPT", `record ${seq} is a change of record ${on}, which is not there`, {
    location: `record ${on}`,
  });

export const INTERRUPT = "__interrupt__";
export const RESUME = "__resume__";
/** As LangGraph has it: whom a `Command({ resume })` without an address is for. */
const NULL_TASK = "00000000-0000-0000-0000-000000000000";

/** Tasks that wait for a person. An answer that came in the same record as the interrupt was there before it. */
export const interruptsIn = (writes: readonly KnownWrite[]): readonly KnownWrite[] =>
  writes.filter(({ taskId, channel, seq }) => {
    if (channel !== INTERRUPT) return false;
    const isAnswer = (other: KnownWrite): boolean =>
      other.channel === RESUME && (other.taskId === taskId || other.taskId === NULL_TASK) && other.seq > seq;
    return !writes.some(isAnswer);
  });

/** What a list of threads is told by. */
function standingOfWrites(writes: readonly KnownWrite[]): Standing | undefined {
  const waiting = interruptsIn(writes).length;
  return waiting === 0 ? undefined : { waiting };
}
