import { setImmediate as nextTurn } from "node:timers/promises";
import type { CheckpointContext } from "../../checkpoint/context.ts";
import { leaseConflict, leaseFault } from "../../checkpoint/lease/lease-rules.ts";
import { isExpected, isNewsOf, MOST_RECORDS, placeOfTail } from "../../checkpoint/log/driver-rules.ts";
import type { KnownPlace, LogChain, LogEntry, LogRecord, ThreadTail } from "../../checkpoint/log/thread-log.ts";
import { assertNewThreadMayStay } from "../../checkpoint/people/erasure-mark.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { Thread } from "../../checkpoint/thread/thread.ts";
import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { Epoch } from "./epoch.ts";
import type { Operation } from "./operations.ts";
import { type OlderEpochs, Planner } from "./planning.ts";
import type { Planned } from "./sealing.ts";

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
  #last: Promise<void> = Promise.resolve();
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
    this.#last = done.then(
      () => undefined,
      () => undefined,
    );
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
  settled(): Promise<void> {
    return this.#last;
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
    const batch = this.#queue.splice(0, MOST_RECORDS);
    const ready: Waiting[] = [];
    for (const waiting of batch) {
      try {
        await waiting.ready;
        ready.push(waiting);
      } catch (error) {
        waiting.reject(error);
      }
    }
    if (ready.length === 0) return;
    try {
      await this.#append(ready);
    } catch (error) {
      this.adopt(undefined);
      for (const waiting of ready) waiting.reject(error);
    }
  }

  async #append(batch: readonly Waiting[]): Promise<void> {
    let planned: { readonly epoch: Epoch; readonly plan: Plan } | undefined;
    const first = this.#epoch ?? (await this.fresh()) ?? new Epoch(newId());
    this.#epoch = first;
    const written = await this.#thread.append(first.end, async (_, isRetry) => {
      if (isRetry && planned !== undefined) await this.#catchUp(planned.epoch);
      for (const races = this.#thread.races(); ; races.lost()) {
        const epoch = this.#epoch ?? new Epoch(newId());
        this.#epoch = epoch;
        const fault = await leaseFault(this.#context, epoch, undefined);
        if (fault !== undefined) throw leaseConflict(this.#context, this.#threadId, fault);
        const behind = epoch.end;
        epoch.begin();
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
    const planner = new Planner({
      context: this.#context,
      threadId: this.#threadId,
      epoch,
      slackBytes: this.#slackBytes,
      older: this.#older,
    });
    const plan = {
      records: [] as LogRecord[],
      done: [] as [Waiting, LogRecord | undefined][],
      refused: [] as [Waiting, unknown][],
    };
    let bytes = 0;
    for (const [index, waiting] of batch.entries()) {
      const undo = planner.mark();
      let planned: Planned | undefined;
      try {
        assertNothingErased(waiting.operation, planner.epoch);
        await this.#assertNotLost(waiting.operation, planner.epoch);
        planned = await planner.plan(waiting.operation);
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
        return { ...plan, epoch: planner.epoch, left: batch.slice(index) };
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
   * Refuses what builds on a checkpoint that this saver read or put, and that is not in the thread any more because the
   * thread was deleted or its storage went back in time. A record that was dropped since, as a prune does, is no loss.
   */
  async #assertNotLost(operation: Operation, epoch: Epoch): Promise<void> {
    const { ns, seen } = operation;
    const id = operation.kind === "put" ? operation.parentId : operation.id;
    if (seen === undefined || id === undefined) return;
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

/** A graph that read its checkpoint before an erasure would bring the erased words back: its write is refused. */
function assertNothingErased({ seen }: Operation, { thread }: Epoch): void {
  // Fewer than were seen: the thread was deleted and created again.
  if (seen?.erasures === undefined || seen.erasures >= (thread.erasures ?? 0)) return;
  throw new StateError(
    "CONFLICT",
    "data of a person was erased from the thread since this run read it, and what the run holds may still have it. Run it again from the newest checkpoint; nothing was written",
    { written: "no" },
  );
}

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
