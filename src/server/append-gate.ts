import type { AppendOutcome, AppendRequest, LogEntry } from "../checkpoint/thread-log.ts";
import { Recent } from "../internal/recent.ts";
import { Refusal } from "./refusal.ts";
import type { TenantLog } from "./tenant-log.ts";

/** Where a thread stood at some moment, and what its newest record said. */
interface KnownPlace extends Pick<LogEntry, "seq" | "base" | "head"> {
  readonly generation: string;
}

/** More than a save under a lease ever takes out. */
const MARKS_AT_ONCE = 16;
/** More than a deletion or a vacuum ever rewrites; each costs a lookup. */
const MOST_REPLACED = 100;

/**
 * Asks of an append what the checkpointer sees to by itself, and a hand-made
 * request need not: that no two records of a thread carry the same checkpoint
 * id, and that whoever may only write takes nothing out of the history.
 *
 * What is looked up must still be so when the append is made. That holds if the
 * thread was at the place the append builds on before the lookup: everything
 * older was there to be seen, and whatever comes later moves the tail, so that
 * the log refuses the append. Therefore an append to a place that the thread has
 * not reached yet is refused here, as the log would have done at that moment.
 */
export class AppendGate {
  readonly #log: Pick<TenantLog, "tail" | "entry" | "list">;
  /** Places that threads were at: the last append through here saves the next one a question. */
  readonly #places = new Recent<KnownPlace>(1000);

  constructor(log: Pick<TenantLog, "tail" | "entry" | "list">) {
    this.#log = log;
  }

  /** Throws what must not be; returns the outcome of an append that need not be tried. */
  async refusalOf(threadId: string, request: AppendRequest, mayDelete: boolean): Promise<AppendOutcome | undefined> {
    const { expected, generation } = request;
    assertOwnNames(request);
    if (!mayDelete) assertAdds(request);
    if (expected === 0 || !needsLooking(request, mayDelete)) return undefined;
    let place = this.#places.get(threadId);
    if (place === undefined || !isAt(place, request)) {
      const found = await this.#place(threadId);
      if (found === undefined || (found.place.generation === generation && found.place.seq < expected)) {
        return { appended: false, tail: found?.entry, generation: found?.place.generation, occupant: undefined };
      }
      // The log itself says what is there instead.
      if (!isAt(found.place, request)) return undefined;
      place = found.place;
      this.#places.set(threadId, place);
    }
    const fault = await this.#faultIn(threadId, request, place, mayDelete);
    if (fault === undefined) return undefined;
    const now = await this.#place(threadId);
    if (now !== undefined && isAt(now.place, request)) throw fault;
    return undefined;
  }

  /** To be called after every append that was made. */
  appended(threadId: string, { generation, record: { seq, base, head } }: AppendRequest): void {
    this.#places.set(threadId, { generation, seq, base, head });
  }

  async #place(threadId: string): Promise<{ readonly place: KnownPlace; readonly entry: LogEntry } | undefined> {
    const tail = await this.#log.tail(threadId);
    if (tail === undefined) return undefined;
    const { seq, base, head } = tail.entry;
    return { place: { generation: tail.generation, seq, base, head }, entry: tail.entry };
  }

  async #faultIn(
    threadId: string,
    request: AppendRequest,
    tail: KnownPlace,
    mayDelete: boolean,
  ): Promise<Refusal | undefined> {
    if (!mayDelete) {
      const { record, drop = [] } = request;
      const movesHead = record.head !== tail.head || (record.head > 0 && record.base > tail.base);
      if (record.checkpointId === undefined && movesHead)
        return needsDelete("to change which checkpoint is the newest");
      for (const seq of drop) {
        const [found] = await this.#log.list(threadId, { before: seq + 1, limit: 1 });
        if (found?.seq === seq) return needsDelete("to take checkpoints out");
      }
    }
    for (const { seq, checkpointId } of written(request)) {
      if (checkpointId === undefined) continue;
      const found = await this.#log.entry(threadId, checkpointId);
      if (found === undefined || found.seq === seq || found.seq > request.expected) continue;
      if (!goes(found, request)) return taken(checkpointId, found.seq);
    }
    return undefined;
  }
}

const written = ({ record, replace = [] }: AppendRequest): readonly LogEntry[] => [record, ...replace];

const isAt = (place: KnownPlace, { generation, expected }: AppendRequest): boolean =>
  place.generation === generation && place.seq === expected;

const needsLooking = (request: AppendRequest, mayDelete: boolean): boolean =>
  written(request).some(({ checkpointId }) => checkpointId !== undefined) ||
  (!mayDelete && (request.record.checkpointId === undefined || (request.drop ?? []).length > 0));

/** Whether this append itself takes the record away, or gives it another id. */
const goes = ({ seq, checkpointId }: LogEntry, { drop = [], dropBelow = 0, replace = [] }: AppendRequest): boolean =>
  seq < dropBelow ||
  drop.includes(seq) ||
  replace.some((other) => other.seq === seq && other.checkpointId !== checkpointId);

function assertOwnNames(request: AppendRequest): void {
  if ((request.replace ?? []).length > MOST_REPLACED) {
    throw new Refusal("INVALID_ARGUMENT", `an append replaces at most ${MOST_REPLACED} records`);
  }
  const ids = written(request).flatMap(({ checkpointId }) => checkpointId ?? []);
  if (new Set(ids).size < ids.length) {
    throw new Refusal("INVALID_ARGUMENT", "two records of an append carry the same checkpoint id");
  }
}

/** Whoever may only write may add, and tidy up after a lease; to take checkpoints out, now or at a set time, is to delete. */
function assertAdds({ record, replace = [], drop = [], dropBelow, ttlMs }: AppendRequest): void {
  if (ttlMs !== undefined) throw needsDelete("to let a thread expire");
  if (replace.length > 0 || dropBelow !== undefined || drop.length > MARKS_AT_ONCE) {
    throw needsDelete("to take checkpoints out");
  }
  if (record.checkpointId !== undefined && record.head !== record.seq) {
    throw needsDelete("to change which checkpoint is the newest");
  }
}

const needsDelete = (what: string): Refusal =>
  new Refusal("PERMISSION_DENIED", `${what}, the token needs the scope threads:delete`);

const taken = (checkpointId: string, seq: number): Refusal =>
  new Refusal(
    "INVALID_ARGUMENT",
    `record ${seq} of the thread carries the checkpoint id ${JSON.stringify(checkpointId)} already; drop it in the same append, or take another id`,
    { status: 409 },
  );
