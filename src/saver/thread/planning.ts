import type { CheckpointContext } from "../../checkpoint/context.ts";
import { StateError } from "../../errors.ts";
import { type CheckpointPlace, checkpointName, newestName, placeOf } from "../names.ts";
import type { Packed } from "../values/packed.ts";
import { deltaOf } from "../values/parts.ts";
import type { WriteCall } from "./body.ts";
import { addCall, Epoch, type KnownCheckpoint, type KnownWrite } from "./epoch.ts";
import type { Operation, PutOperation, Surroundings, WritesOperation } from "./operations.ts";
import { callsOf, graphRecord, type Planned, relinked, relinkedParts } from "./sealing.ts";

/** What was read of older epochs, by the name it was asked for. Good until the base moves. */
export type OlderEpochs = Map<string, Epoch | undefined>;

export interface PlannerParts {
  readonly context: CheckpointContext;
  readonly threadId: string;
  readonly epoch: Epoch;
  /** How much a reader may fetch beside the state before a new base is written. */
  readonly slackBytes: number;
  readonly older: OlderEpochs;
}

/** A new base is written when the range that a reader fetches is this many times the state. */
const MOST_RANGE_PER_STATE = 3;

/** Turns operations into records, one after another, on top of an epoch that takes each of them in. */
export class Planner {
  readonly #context: CheckpointContext;
  readonly #threadId: string;
  readonly #slackBytes: number;
  readonly #older: OlderEpochs;
  #epoch: Epoch;

  constructor({ context, threadId, epoch, slackBytes, older }: PlannerParts) {
    this.#context = context;
    this.#threadId = threadId;
    this.#epoch = epoch;
    this.#slackBytes = slackBytes;
    this.#older = older;
  }

  /** The epoch that the next record belongs to. */
  get epoch(): Epoch {
    return this.#epoch;
  }

  /** The way back to before the next operation. */
  mark(): () => void {
    const epoch = this.#epoch;
    const goBack = epoch.savepoint();
    return () => {
      goBack();
      this.#epoch = epoch;
    };
  }

  /** The record of an operation, or `undefined` where it changes nothing. A record that is a base is the last of its epoch's plan. */
  plan(operation: Operation): Promise<Planned | undefined> {
    return operation.kind === "put" ? this.#planPut(operation) : this.#planWrites(operation);
  }

  async #planPut(put: PutOperation): Promise<Planned> {
    const epoch = this.#epoch;
    const isGreatest = put.id > epoch.greatest && put.mustFollowNewest !== true;
    const newest = isGreatest ? undefined : await this.#newestId(put.ns);
    if (put.mustFollowNewest === true && newest !== put.parentId && newest !== undefined) throw overtaken(put, newest);
    const parent = put.parentId === undefined ? undefined : epoch.find({ ns: put.ns, id: put.parentId });
    const given = await this.#reconciled(put, parent);
    const older = await this.#olderEpoch(put);
    const { mark } = epoch.pool;
    const texts = new Map([...given].map(([key, packed]) => [key, epoch.pool.intern(packed)]));
    let live = 0;
    for (const text of texts.values()) live += epoch.pool.weightOf(text);
    const isNewest = newest === undefined || put.id >= newest;
    if (this.#isTimeForBase(live)) {
      epoch.pool.rollBack(mark);
      return this.#planBase(put, given, older ?? epoch, isNewest);
    }
    const carried = older === undefined ? [] : relinked(older, epoch, older.writesOf(put));
    const delta = deltaOf(parent === undefined ? new Map() : epoch.partsOf(parent), texts);
    const checkpoint = { on: parent?.seq ?? 0, parts: delta };
    const isNew = parent !== undefined || put.parentId === undefined;
    return graphRecord(this.#context, epoch, put, mark, {
      checkpoint,
      writes: callsOf(carried),
      isNewest,
      put,
      live,
      isNew,
    });
  }

  /** The same checkpoint as the first of a new epoch, with nothing that it shares. */
  #planBase(put: PutOperation, given: ReadonlyMap<string, Packed>, source: Epoch, isNewest: boolean): Planned {
    const old = this.#epoch;
    const epoch = new Epoch(old.generation);
    const { tail, head, greatest, thread } = old;
    Object.assign(epoch, { base: tail + 1, tail, head, greatest, thread });
    const { mark } = epoch.pool;
    const texts = new Map([...given].map(([key, packed]) => [key, epoch.pool.intern(packed)]));
    const linked = relinked(source, epoch, source.writesOf(put));
    let live = 0;
    for (const text of texts.values()) live += epoch.pool.weightOf(text);
    const checkpoint = { on: 0, parts: deltaOf(new Map(), texts) };
    this.#epoch = epoch;
    return graphRecord(this.#context, epoch, put, mark, {
      checkpoint,
      writes: callsOf(linked),
      isNewest,
      put,
      live,
      isNew: false,
    });
  }

  #isTimeForBase(live: number): boolean {
    const { range, fresh, records, early, base, tail } = this.#epoch;
    if (tail < base || live > this.#context.log.capabilities.maxRecordBytes / 2) return false;
    const { maxChainRecords } = this.#context.log.capabilities;
    if (records >= maxChainRecords && fresh >= live) return true;
    // At least half of what is read again must have been new, or namespaces would restate one another for ever.
    return range > MOST_RANGE_PER_STATE * (live + early) + this.#slackBytes && fresh * 2 >= range;
  }

  async #planWrites(operation: WritesOperation): Promise<Planned | undefined> {
    const epoch = this.#epoch;
    const older = await this.#olderEpoch(operation);
    const { mark } = epoch.pool;
    const { taskId, replaces } = operation;
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
    const carried = older === undefined ? [] : relinked(older, epoch, older.writesOf(operation));
    const calls = [...callsOf(carried), call];
    const newest = copied === undefined && !epoch.knows(operation) ? undefined : await this.#newestId(operation.ns);
    const isNewest = newest === operation.id;
    if (older === undefined || copied === undefined) {
      return graphRecord(this.#context, epoch, operation, mark, {
        checkpoint: undefined,
        writes: calls,
        isNewest,
        live: 0,
        isNew: true,
      });
    }
    const texts = relinkedParts(older, epoch, copied);
    const checkpoint = { on: 0, parts: deltaOf(new Map(), texts) };
    return graphRecord(this.#context, epoch, operation, mark, {
      checkpoint,
      writes: calls,
      isNewest,
      put: copied,
      live: 0,
      isNew: false,
    });
  }

  /** What older records hold of a checkpoint that no record since the base is about. */
  async #olderEpoch(place: CheckpointPlace): Promise<Epoch | undefined> {
    if (this.#epoch.knows(place) || place.id > this.#epoch.greatest) return undefined;
    const name = checkpointName(place.ns, place.id);
    if (!this.#older.has(name)) {
      const chain = await this.#context.call({ operation: "readCheckpoint", threadId: this.#threadId }, (log) =>
        log.readCheckpoint(this.#threadId, name),
      );
      this.#older.set(name, chain && Epoch.of(chain));
    }
    return this.#older.get(name);
  }

  /** The id of the newest checkpoint of a namespace as of now. `undefined` where there is none. */
  async #newestId(ns: string): Promise<string | undefined> {
    const known = this.#epoch.newestOf(ns);
    // From the first record on, everything is at hand.
    if (known !== undefined || this.#epoch.base === 1) return known;
    const entry = await this.#context.call({ operation: "entry", threadId: this.#threadId }, (log) =>
      log.entry(this.#threadId, newestName(ns)),
    );
    return entry && placeOf(entry)?.id;
  }

  async #reconciled(put: PutOperation, parent: KnownCheckpoint | undefined): Promise<ReadonlyMap<string, Packed>> {
    if (put.reconcile === undefined) return put.parts;
    const epoch = this.#epoch;
    const parentPlace = put.parentId === undefined ? undefined : { ns: put.ns, id: put.parentId };
    const older = parent !== undefined || parentPlace === undefined ? undefined : await this.#olderEpoch(parentPlace);
    const inOlder = parentPlace && older?.find(parentPlace);
    const [from, known] = parent === undefined ? [older, inOlder] : [epoch, parent];
    const parts = from === undefined || known === undefined ? undefined : from.partsOf(known);
    const surroundings: Surroundings = {
      hasParent: parentPlace !== undefined,
      parentText: (key) => parts?.get(key),
      parentPart: (key) => {
        const text = parts?.get(key);
        return text === undefined ? undefined : from?.pool.unlink(text);
      },
      isKnown: (key, text, alsoHas) => {
        for (const other of epoch.inNamespace(put.ns)) {
          const texts = epoch.partsOf(other);
          if (texts.get(key) === text && texts.has(alsoHas)) return true;
        }
        return false;
      },
    };
    return put.reconcile(put.parts, surroundings);
  }
}

/** A call that was made before: a retry, or one that came too late. */
function changesNothing(known: readonly KnownWrite[], call: WriteCall): boolean {
  const before = new Map(known.map((write) => [JSON.stringify([write.taskId, write.index]), write]));
  const after = new Map(before);
  addCall(after, call);
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
