import { isSamePlace, namesOf, placeOfTail, recordsIn } from "../../checkpoint/log/driver-rules.ts";
import type { AppendOutcome, AppendRequest, KnownPlace, LogEntry } from "../../checkpoint/log/thread-log.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { MOST_WAITING } from "../../checkpoint/signals/mailbox.ts";
import { Recent } from "../../internal/recent.ts";
import { Refusal } from "../request/refusal.ts";
import type { TenantLog } from "./tenant-log.ts";

/** Where a thread stood at some moment, and what its newest record said. */
interface Standpoint extends KnownPlace, Pick<LogEntry, "base" | "head"> {
  readonly isGraph: boolean;
}

/** More than a save ever takes out: the signals that wait, and the marks of a lease. */
const MARKS_AT_ONCE: number = MOST_WAITING + 16;
/** More than a deletion or a vacuum ever rewrites; each costs a lookup. */
const MOST_REPLACED = 100;

/**
 * Checks of an append what the checkpointer guarantees by itself and a hand-made
 * request need not: that a caller with only write access removes nothing from the
 * history, and gives no checkpoint's name to another record. (In the thread of a graph
 * that is how writes join their checkpoint, and nothing is lost by it.)
 *
 * What is looked up must still hold when the append is made. It does if the thread had
 * reached the place that the append builds on before the lookup: the lookup saw
 * everything older, and anything newer moves the tail, so that the log refuses the
 * append. Therefore an append to a place that the thread has not reached yet is refused
 * here, as the log would have done at that moment.
 */
export class AppendGate {
  readonly #log: Pick<TenantLog, "tail" | "entry" | "list">;
  /** Places that threads were at: the last append through here saves the next one a question. */
  readonly #places = new Recent<Standpoint>(1000);

  constructor(log: Pick<TenantLog, "tail" | "entry" | "list">) {
    this.#log = log;
  }

  /** Throws what must not be; returns the outcome of an append that need not be tried. */
  async refusalOf(threadId: string, request: AppendRequest, mayDelete: boolean): Promise<AppendOutcome | undefined> {
    const { expected } = request;
    if ((request.replace ?? []).length > MOST_REPLACED) {
      throw new Refusal("INVALID_ARGUMENT", `an append replaces at most ${MOST_REPLACED} records`);
    }
    if (mayDelete) return undefined;
    assertAdds(request);
    if (expected.seq === 0) return undefined;
    let place = this.#places.get(threadId);
    if (place === undefined || !isSamePlace(place, expected)) {
      const found = await this.#place(threadId);
      if (found === undefined || (found.place.generation === expected.generation && found.place.seq < expected.seq)) {
        return { appended: false, tail: found?.entry, generation: found?.place.generation, occupant: undefined };
      }
      // The log itself reports the place it found instead.
      if (!isSamePlace(found.place, expected)) return undefined;
      place = found.place;
      this.#places.set(threadId, place);
    }
    const fault = await this.#faultIn(threadId, request, place);
    if (fault === undefined) return undefined;
    const now = await this.#place(threadId);
    if (now !== undefined && isSamePlace(now.place, expected)) throw fault;
    return undefined;
  }

  /** To be called after every append that was made. */
  appended(threadId: string, request: AppendRequest): void {
    const last = recordsIn(request).at(-1) ?? request.record;
    this.#places.set(threadId, standpoint(request.expected.generation, last));
  }

  async #place(threadId: string): Promise<{ readonly place: Standpoint; readonly entry: LogEntry } | undefined> {
    const tail = await this.#log.tail(threadId);
    return tail && { place: standpoint(tail.generation, tail.entry), entry: tail.entry };
  }

  async #faultIn(threadId: string, request: AppendRequest, tail: Standpoint): Promise<Refusal | undefined> {
    let before: Pick<LogEntry, "head" | "base"> = tail;
    for (const record of recordsIn(request)) {
      const isOwn = record.head === record.seq;
      const hidesHead = record.head !== before.head || (record.head > 0 && record.base > before.base);
      if (!isOwn && hidesHead) return needsDelete("to change which checkpoint is the newest");
      if (isGraph(record) !== tail.isGraph) return otherKind(tail);
      before = record;
    }
    for (const seq of request.drop ?? []) {
      const [found] = await this.#log.list(threadId, { before: seq + 1, limit: 1 });
      if (found?.seq === seq) return needsDelete("to take checkpoints out");
    }
    return tail.isGraph ? undefined : this.#takenIn(threadId, request);
  }

  async #takenIn(threadId: string, request: AppendRequest): Promise<Refusal | undefined> {
    const names = recordsIn(request).flatMap(namesOf);
    if (new Set(names).size < names.length) return twice();
    for (const name of names) {
      const found = await this.#log.entry(threadId, name);
      if (found !== undefined && found.seq <= request.expected.seq) return taken(name, found.seq);
    }
    return undefined;
  }
}

const standpoint = (generation: string, entry: LogEntry): Standpoint => {
  const { base, head } = entry;
  return { ...placeOfTail({ generation, entry }), base, head, isGraph: isGraph(entry) };
};

/** For an entry whose header a client may have made by hand. */
function isGraph(entry: LogEntry): boolean {
  try {
    return openHeader(entry).thread?.kind === "graph";
  } catch {
    return false;
  }
}

/**
 * Write access allows adding records and tidying up after a lease; taking checkpoints out, now or at a set time, needs
 * delete access.
 */
function assertAdds({ replace = [], drop = [], dropBelow, ttlMs }: AppendRequest): void {
  if (ttlMs !== undefined) throw needsDelete("to let a thread expire");
  if (replace.length > 0 || dropBelow !== undefined || drop.length > MARKS_AT_ONCE) {
    throw needsDelete("to take checkpoints out");
  }
}

const needsDelete = (what: string): Refusal =>
  new Refusal("PERMISSION_DENIED", `${what}, the token needs the scope threads:delete`);

const otherKind = ({ isGraph: isOfGraph }: Standpoint): Refusal =>
  new Refusal(
    "INVALID_ARGUMENT",
    `the thread is ${isOfGraph ? "a graph's" : "an agent's"}, and takes no records of another kind`,
    { status: 409 },
  );

const twice = (): Refusal =>
  new Refusal("INVALID_ARGUMENT", "two records of an append carry the same name", { status: 409 });

const taken = (name: string, seq: number): Refusal =>
  new Refusal(
    "INVALID_ARGUMENT",
    `record ${seq} of the thread carries the name ${JSON.stringify(name)} already; take another one`,
    { status: 409 },
  );
