import { setImmediate as nextTurn } from "node:timers/promises";
import type { CheckpointContext } from "../../checkpoint/context.ts";
import { leaseConflict, leaseFault, mayBeLeased } from "../../checkpoint/lease/lease-rules.ts";
import { isExpected, isNewsOf, MOST_RECORDS, placeOfTail } from "../../checkpoint/log/driver-rules.ts";
import type { KnownPlace, LogChain, LogEntry, LogRecord, ThreadTail } from "../../checkpoint/log/thread-log.ts";
import { assertNewThreadMayStay } from "../../checkpoint/people/erasure-mark.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { type LostRaces, Thread } from "../../checkpoint/thread/thread.ts";
import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { Recent } from "../../internal/recent.ts";
import { Epoch } from "./epoch.ts";
import { checkpointName } from "./graph-record.ts";
import {
  type OlderEpochs,
  type Operation,
  type Planned,
  type PutOperation,
  planPut,
  planWrites,
  type Seen,
  type WritesOperation,
} from "./planning.ts";
import { findCheckpoint, type ReadCheckpoint } from "./reading.ts";

/** How many threads are kept in memory while nothing is done with them, and how much of them. */
const MOST_IDLE_WRITERS = 64;
const MOST_IDLE_BYTES = 64 * 1024 * 1024;
const MOST_ASKED_FOR = 1000;
const MOST_SEEN = 10_000;

/** The threads of one saver. What `CheckpointSaver` and the adapters to frameworks stand on. */
export class GraphThreads {
  readonly context: CheckpointContext;
  readonly #slackBytes: number;
  readonly #refusesForks: boolean;
  readonly #writers = new Map<string, ThreadWriter>();
  /** Checkpoints that were requested by id: a child of one of them is a deliberate fork. */
  readonly #askedFor = new Recent<true>(MOST_ASKED_FOR);
  /** What is built on one of them is refused if an erasure, a deletion or a storage that went back in time took it. */
  readonly #seen = new Recent<Seen>(MOST_SEEN);

  constructor(context: CheckpointContext, slackBytes: number, refusesForks: boolean) {
    this.context = context;
    this.#slackBytes = slackBytes;
    this.#refusesForks = refusesForks;
  }

  put(threadId: string, operation: PutOperation, source: unknown, ready: Promise<unknown>): Promise<void> {
    const { ns, parentId } = operation;
    const isMeant =
      source === "fork" || (parentId !== undefined && this.#askedFor.get(askedKey(threadId, ns, parentId)));
    const mustFollowNewest = this.#refusesForks && !isMeant;
    const seen = parentId === undefined ? undefined : this.#seen.get(askedKey(threadId, ns, parentId));
    return this.#write(threadId, { ...operation, mustFollowNewest }, ready, seen);
  }

  putWrites(threadId: string, operation: WritesOperation, ready: Promise<unknown>): Promise<void> {
    const seen = this.#seen.get(askedKey(threadId, operation.ns, operation.id));
    return this.#write(threadId, operation, ready, seen);
  }

  async #write(
    threadId: string,
    operation: PutOperation | WritesOperation,
    ready: Promise<unknown>,
    seen: Seen | undefined,
  ): Promise<void> {
    const key = askedKey(threadId, operation.ns, operation.id);
    const given = { ...operation, ...(seen !== undefined && { seen }) };
    // A child may come before this is written: what it holds is as old as what this was made of.
    const own: Seen = {
      erasures: seen?.erasures,
      place: this.#seen.get(key)?.place,
      madeOf: seen?.place ?? seen?.madeOf,
    };
    if (operation.kind === "put") this.#seen.set(key, own);
    try {
      const written = await this.writer(threadId).write(given, ready);
      if (operation.kind === "put")
        Object.assign(own, { erasures: own.erasures ?? written.erasures, place: written.place });
    } catch (error) {
      throw this.context.placed({ operation: operation.kind === "put" ? "put" : "putWrites", threadId }, error);
    }
    this.context.index.appended();
  }

  find(threadId: string, ns: string, id: string | undefined): Promise<ReadCheckpoint | undefined> {
    if (id !== undefined && this.#refusesForks) this.#askedFor.set(askedKey(threadId, ns, id), true);
    return this.context.guard({ operation: "get", threadId }, async () => {
      const found = await findCheckpoint(this.context, this.writer(threadId), threadId, ns, id);
      if (found !== undefined) {
        const { erasures, epoch, known } = found;
        const { seq, writeId } = known;
        const place = { generation: epoch.generation, seq, writeId };
        this.#seen.set(askedKey(threadId, ns, known.id), { erasures, place });
      }
      return found;
    });
  }

  writer(threadId: string): ThreadWriter {
    const known = this.#writers.get(threadId);
    const writer = known ?? new ThreadWriter(this.context, threadId, this.#slackBytes);
    this.#writers.delete(threadId);
    this.#writers.set(threadId, writer);
    if (known === undefined) this.#forgetIdle();
    return writer;
  }

  /** Everything that was handed in is written, or has failed. */
  async settled(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.settled()));
  }

  /** The ones that were not used for the longest time go first. */
  #forgetIdle(): void {
    let [count, bytes] = [0, 0];
    for (const [threadId, writer] of [...this.#writers].reverse()) {
      count += 1;
      bytes += writer.weight;
      const isTooMuch = count > MOST_IDLE_WRITERS || bytes > MOST_IDLE_BYTES;
      if (isTooMuch && count > 1 && writer.isIdle) this.#writers.delete(threadId);
    }
  }
}

const askedKey = (threadId: string, ns: string, id: string): string =>
  JSON.stringify([threadId, checkpointName(ns, id)]);

interface Waiting {
  readonly operation: Operation;
  /** When all of its texts are there. */
  readonly ready: Promise<unknown>;
  readonly resolve: (written: Written) => void;
  readonly reject: (error: unknown) => void;
}

export interface Written {
  /** How many erasures the thread had by then. */
  readonly erasures: number;
  /** The record that was written; `undefined` where the operation changed nothing. */
  readonly place: KnownPlace | undefined;
}

/**
 * Everything that this saver does with one thread, one thing after another. What
 * waits is written together: all that came in while an append was under way, or
 * within one turn of the event loop, goes into the next one.
 */
export class ThreadWriter {
  readonly #context: CheckpointContext;
  readonly #threadId: string;
  readonly #thread: Thread;
  readonly #slackBytes: number;
  readonly #older: OlderEpochs = new Map();
  #queue: Waiting[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  #last: Promise<unknown> = Promise.resolve();
  #isRunning = false;
  #epoch: Epoch | undefined;

  constructor(context: CheckpointContext, threadId: string, slackBytes: number) {
    this.#context = context;
    this.#threadId = threadId;
    this.#thread = new Thread(context, threadId, "put");
    this.#slackBytes = slackBytes;
  }

  get isIdle(): boolean {
    return !this.#isRunning && this.#queue.length === 0;
  }

  /** About how much is kept in memory for the thread. */
  get weight(): number {
    return this.#epoch?.range ?? 0;
  }

  write(operation: Operation, ready: Promise<unknown>): Promise<Written> {
    // Reported to the caller that waits for the write.
    ready.catch(() => undefined);
    const done = new Promise<Written>((resolve, reject) => {
      this.#queue.push({ operation, ready, resolve, reject });
    });
    this.#last = done;
    if (!this.#isRunning) {
      this.#isRunning = true;
      void this.#run();
    }
    return done;
  }

  async #run(): Promise<void> {
    await nextTurn();
    while (this.#queue.length > 0) await this.alone(() => this.#writeNext());
    this.#isRunning = false;
  }

  /** Runs `work` while nothing else is done with the thread. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Resolves when what was handed in before is written, or has failed; later operations are not waited for. */
  async settled(): Promise<void> {
    // Its caller gets the failure.
    await this.#last.catch(() => undefined);
  }

  /** The thread as it is now. Only inside `alone`. `undefined` when there is no thread. */
  async fresh(): Promise<Epoch | undefined> {
    const known = this.#epoch;
    const newerThan = known === undefined ? {} : { newerThan: known.place };
    const chain = await this.#context.call({ operation: "readTail", threadId: this.#threadId }, (log) =>
      log.readTail(this.#threadId, newerThan),
    );
    if (chain === undefined) this.adopt(undefined);
    else if (known !== undefined && erasuresAt(chain.tail) !== (known.thread.erasures ?? 0)) {
      // An erasure has rewritten records that are known here.
      this.adopt(undefined);
      return this.fresh();
    } else if (known?.base !== chain.tail.base || !isNewsOf(known.place, chain)) this.adopt(Epoch.of(chain));
    else {
      if (chain.records.length > 0) this.#older.clear();
      for (const record of chain.records) known.take(record);
    }
    return this.#epoch;
  }

  /** The epoch that is known of, which others may have left behind. */
  get known(): Epoch | undefined {
    return this.#epoch;
  }

  adopt(epoch: Epoch | undefined): void {
    this.#epoch = epoch;
    this.#older.clear();
  }

  async #writeNext(): Promise<void> {
    const batch: Waiting[] = [];
    for (const waiting of this.#queue.splice(0, MOST_RECORDS)) {
      try {
        await waiting.ready;
        batch.push(waiting);
      } catch (error) {
        waiting.reject(error);
      }
    }
    if (batch.length === 0) return;
    try {
      await this.#append(batch);
    } catch (error) {
      this.adopt(undefined);
      for (const waiting of batch) waiting.reject(error);
    }
  }

  async #append(batch: readonly Waiting[]): Promise<void> {
    let planned: { readonly epoch: Epoch; readonly plan: Plan } | undefined;
    const first = this.#epoch ?? (await this.fresh()) ?? new Epoch(newId());
    this.#epoch = first;
    const written = await this.#thread.append(first.end, async (_, isRetry) => {
      if (isRetry && planned !== undefined) await this.#catchUp(planned.epoch);
      for (let races: LostRaces | undefined; ; races.lost()) {
        const epoch = this.#epoch ?? new Epoch(newId());
        this.#epoch = epoch;
        const fault = mayBeLeased(epoch, undefined) ? await leaseFault(this.#context, epoch, undefined) : undefined;
        if (fault !== undefined) throw leaseConflict(this.#context, this.#threadId, fault);
        const behind = epoch.end;
        const plan = await this.#plan(epoch, batch).catch((error: unknown) => {
          epoch.rollBack();
          throw error;
        });
        planned = { epoch, plan };
        const [record, ...more] = plan.records;
        if (record !== undefined) {
          const append = { record, ...(more.length > 0 && { more }) };
          return { append, behind, generation: epoch.generation };
        }
        // Writes that are there already need no record: if they still are, which an append would have shown.
        if (plan.done.length === 0 || isExpected(await this.#tail(), behind ?? epoch.place)) return undefined;
        await this.#catchUp(epoch);
        races ??= this.#thread.races();
      }
    });
    if (planned === undefined) return;
    const { plan, epoch } = planned;
    if (written?.request.expected.seq === 0) {
      await assertNewThreadMayStay(this.#context, "put", this.#threadId, epoch.generation, plan.records);
    }
    epoch.commit();
    if (plan.epoch !== epoch) this.adopt(plan.epoch);
    const { generation, thread } = plan.epoch;
    for (const [waiting, record] of plan.done) {
      const place = record && placeOfTail({ generation, entry: record });
      waiting.resolve({ erasures: thread.erasures ?? 0, place });
    }
    for (const [waiting, error] of plan.refused) waiting.reject(error);
    this.#queue.unshift(...plan.left);
  }

  #tail(): Promise<ThreadTail | undefined> {
    return this.#thread.call((log) => log.tail(this.#threadId));
  }

  /** After a refusal: another writer wrote. */
  async #catchUp(epoch: Epoch): Promise<void> {
    epoch.rollBack();
    const wasThere = epoch.tail > 0;
    if (!wasThere) this.adopt(undefined);
    const found = await this.fresh();
    if (wasThere && found?.generation !== epoch.generation) throw deletedMeanwhile(this.#threadId);
  }

  async #plan(epoch: Epoch, batch: readonly Waiting[]): Promise<Plan> {
    const { maxRecordBytes } = this.#context.log.capabilities;
    const ground = {
      context: this.#context,
      threadId: this.#threadId,
      epoch,
      slackBytes: this.#slackBytes,
      older: this.#older,
    };
    const plan = {
      records: [] as LogRecord[],
      done: [] as [Waiting, LogRecord | undefined][],
      refused: [] as [Waiting, unknown][],
    };
    let bytes = 0;
    for (const [index, waiting] of batch.entries()) {
      const { operation } = waiting;
      const undo = epoch.savepoint();
      let planned: Planned | undefined;
      try {
        if (operation.seen !== undefined) await this.#assertStillTrue(operation, operation.seen, epoch);
        planned = await (operation.kind === "put" ? planPut(ground, operation) : planWrites(ground, operation));
      } catch (error) {
        // A failure of the storage fails all operations; an invalid operation fails alone.
        if (!isOwnFault(error)) throw error;
        undo();
        plan.refused.push([waiting, error]);
        continue;
      }
      const size = planned?.record.body.byteLength ?? 0;
      if (size > maxRecordBytes) {
        undo();
        plan.refused.push([waiting, tooLarge(this.#context, size)]);
        continue;
      }
      if (bytes + size > maxRecordBytes) {
        undo();
        return { ...plan, epoch, left: batch.slice(index) };
      }
      bytes += size;
      plan.done.push([waiting, planned?.record]);
      if (planned === undefined) continue;
      plan.records.push(planned.record);
      if (planned.epoch !== epoch) return { ...plan, epoch: planned.epoch, left: batch.slice(index + 1) };
    }
    return { ...plan, epoch, left: [] };
  }

  /**
   * Refuses what builds on a checkpoint that this saver read or put, and of which a person was erased since: it would
   * bring the erased words back. And what builds on one that is not in the thread any more because the thread was
   * deleted or its storage went back in time. A record that was dropped since, as a prune does, is no loss.
   */
  async #assertStillTrue(operation: Operation, seen: Seen, epoch: Epoch): Promise<void> {
    // Fewer than were seen: the thread was deleted and created again.
    if (seen.erasures !== undefined && seen.erasures < (epoch.thread.erasures ?? 0)) throw erasedMeanwhile();
    const { ns } = operation;
    const id = operation.kind === "put" ? operation.parentId : operation.id;
    if (id === undefined) return;
    const known = epoch.find({ ns, id });
    // What was not written yet is in this batch, or was refused: then it counts what that was made of.
    const place = seen.place ?? (known === undefined ? seen.madeOf : undefined);
    if (place === undefined) return;
    const isHere = known?.seq === place.seq && known.writeId === place.writeId;
    if (isHere && epoch.generation === place.generation) return;
    const chain = await this.#thread.call((log) =>
      log.readRecords(this.#threadId, { before: place.seq + 1, limit: 1 }),
    );
    if (chain === undefined || !mayHaveHeld(chain, place)) throw lost(this.#threadId, id);
  }
}

interface Plan {
  readonly records: readonly LogRecord[];
  readonly epoch: Epoch;
  readonly done: readonly (readonly [Waiting, LogRecord | undefined])[];
  readonly refused: readonly (readonly [Waiting, unknown])[];
  /** What did not fit into this append. */
  readonly left: readonly Waiting[];
}

const erasuresAt = (entry: LogEntry): number => openHeader(entry).thread?.erasures ?? 0;

const erasedMeanwhile = (): StateError =>
  new StateError(
    "CONFLICT",
    "data of a person was erased from the thread since this run read it, and what the run holds may still have it. Run it again from the newest checkpoint; nothing was written",
    { written: "no" },
  );

/** Whether the newest record up to a place leaves it possible that the place was in this thread: it is there, or was dropped. */
function mayHaveHeld({ generation, tail, records }: LogChain, place: KnownPlace): boolean {
  if (generation !== place.generation || tail.seq < place.seq) return false;
  const there = records.at(-1);
  return there?.seq !== place.seq || there.writeId === place.writeId;
}

const lost = (threadId: string, checkpointId: string): StateError =>
  new StateError(
    "CONFLICT",
    `checkpoint ${JSON.stringify(checkpointId)}, on which this builds, is not in the thread any more: the thread was deleted, or its storage went back in time. Run again from the newest checkpoint; nothing was written`,
    { threadId, checkpointId, written: "no" },
  );

const isOwnFault = (error: unknown): boolean =>
  StateError.is(error) &&
  error.context.backend === undefined &&
  ["CONFLICT", "INVALID_ARGUMENT", "TOO_LARGE"].includes(error.code);

const tooLarge = ({ log }: CheckpointContext, size: number): StateError =>
  new StateError(
    "TOO_LARGE",
    `what is new in the checkpoint is ${size} bytes; ${log.name} takes at most ${log.capabilities.maxRecordBytes}. Keep large values elsewhere and refer to them`,
  );

const deletedMeanwhile = (threadId: string): StateError =>
  new StateError(
    "CONFLICT",
    `thread ${JSON.stringify(threadId)} is not there any more: it was deleted, or the storage was put back to a time before it. Nothing was written, and what this process knew of the thread is forgotten`,
    { threadId, written: "no" },
  );
