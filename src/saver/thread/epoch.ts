import type { KnownPlace, LogChain, LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { assertChecksum, openHeader, type RecordHeader, type ThreadFacts } from "../../checkpoint/record/record.ts";
import type { Tail } from "../../checkpoint/thread/thread.ts";
import { StateError } from "../../errors.ts";
import { type CheckpointPlace, checkpointName, isNewest, placeOf } from "../names.ts";
import { applied, type PartsDelta } from "../values/parts.ts";
import { Pool } from "../values/pool.ts";
import { type CheckpointBody, decodeBody, type StoredWrite, type WriteCall } from "./body.ts";
import { agentsThread } from "./graph-kind.ts";

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
}

interface WrittenPlace {
  readonly place: CheckpointPlace;
  /** What its writes weigh while their checkpoint has not come. */
  readonly early: number;
  readonly kept: ReadonlyMap<string, KnownWrite>;
}

/** What there is to know of a thread before its first record. */
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
  /** Of the record at the tail. */
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

  take(record: LogRecord, header: RecordHeader = openHeader(record)): void {
    if (header.thread?.kind !== "graph") throw agentsThread();
    assertChecksum(record);
    this.#move(record, header);
    const place = placeOf(record, header);
    if (place === undefined) return;
    const { pool, checkpoint, writes } = decodeBody(record.body, record.seq);
    this.pool.add(pool);
    this.keep(record, header, place, { checkpoint, writes });
  }

  /** Takes in a record whose additions are in the pool already. */
  keep(
    record: LogEntry,
    header: RecordHeader,
    { ns, id }: CheckpointPlace,
    { checkpoint, writes }: { readonly checkpoint: CheckpointBody | undefined; readonly writes: readonly WriteCall[] },
  ): void {
    // Nothing but the names: what hands a place in may hold the values of a whole checkpoint.
    const place = { ns, id };
    const name = checkpointName(ns, id);
    if (checkpoint !== undefined) {
      const { seq, writeId, metadata } = record;
      const { on, parts: delta } = checkpoint;
      const known = {
        ...place,
        seq,
        writeId,
        parentId: header.graph?.parent,
        metadata,
        createdAt: header.createdAt,
        on,
        delta,
      };
      this.#set(this.#checkpoints, seq, known);
      this.#set(this.#byName, name, known);
    }
    if (isNewest(record, place.ns)) this.#set(this.#newest, place.ns, place.id);
    const before = this.#writes.get(name);
    const kept = new Map(before?.kept);
    for (const call of writes) addCall(kept, call);
    const early = this.#byName.has(name) ? 0 : (before?.early ?? 0) + header.bodyBytes;
    this.early += early - (before?.early ?? 0);
    this.#set(this.#writes, name, { place, kept, early });
  }

  /** From here on everything can be taken back, until `commit`. */
  begin(): void {
    this.#undo = [];
    this.#start = this.savepoint();
  }

  commit(): void {
    this.#undo = undefined;
    this.#start = undefined;
  }

  rollBack(): void {
    this.#start?.();
    this.commit();
  }

  /** The way back to here, while nothing is committed. */
  savepoint(): () => void {
    const { base, tail, writeId, head, greatest, range, fresh, records, early, thread } = this;
    const { mark } = this.pool;
    const undone = this.#undo?.length ?? 0;
    return () => {
      for (const undo of this.#undo?.splice(undone).toReversed() ?? []) undo();
      Object.assign(this, { base, tail, writeId, head, greatest, range, fresh, records, early, thread });
      this.pool.rollBack(mark);
      for (const seq of this.#resolved.keys()) if (seq > tail) this.#resolved.delete(seq);
    };
  }

  #set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    const [wasThere, before] = [map.has(key), map.get(key)];
    this.#undo?.push(() => {
      if (wasThere) map.set(key, before as Value);
      else map.delete(key);
    });
    map.set(key, value);
  }

  /** Where the thread stands after a record. */
  #move(record: LogEntry, header: RecordHeader): void {
    const { seq, base, head } = record;
    this.tail = seq;
    this.writeId = record.writeId;
    this.base = base;
    this.head = head;
    this.thread = header.thread ?? this.thread;
    // A mark, such as a lease, moves the tail and says nothing of the graph.
    if (header.graph === undefined) return;
    this.range = header.chain.bytes;
    this.records = header.chain.records;
    this.fresh = header.graph.fresh ?? 0;
    this.greatest = header.graph.greatest ?? placeOf(record, header)?.id ?? this.greatest;
  }

  /** A record that this process wrote, whose parts are here already. */
  advance(record: LogEntry, header: RecordHeader): void {
    this.#move(record, header);
  }

  find({ ns, id }: CheckpointPlace): KnownCheckpoint | undefined {
    return this.#byName.get(checkpointName(ns, id));
  }

  /** Whether any record since the base is about this checkpoint: then all that there is to know of it is here. */
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
export function addCall(kept: Map<string, KnownWrite>, { taskId, replaces, writes }: WriteCall): void {
  for (const write of writes) {
    const key = JSON.stringify([taskId, write.index]);
    if (replaces || !kept.has(key)) kept.set(key, { taskId, ...write });
  }
}

const missing = ({ seq, on }: KnownCheckpoint): StateError =>
  new StateError("CORRUPT", `record ${seq} is a change of record ${on}, which is not there`, {
    location: `record ${on}`,
  });
