import { newId } from "../../driver/ids.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";
import { beginningOf, isSamePlace, isSameRecord } from "../log/driver-rules.ts";
import type {
  AppendOutcome,
  AppendRequest,
  KnownPlace,
  LogChain,
  LogEntry,
  LogRecord,
  ThreadLog,
  ThreadTail,
} from "../log/thread-log.ts";
import { markRecord, openHeader, type ThreadFacts } from "../record/record.ts";
import { straySignals, withMail } from "../signals/mailbox.ts";

/** The end of a thread as a caller knows it: all that a record behind it is made from. */
export interface Tail extends KnownPlace {
  readonly base: number;
  /** 0 if there is no checkpoint yet. */
  readonly head: number;
  /** Of the newest record. */
  readonly checkpointId: string | undefined;
  /** The newest record is neither a checkpoint nor part of one: the next record repeats its facts and takes its place. */
  readonly isMark: boolean;
  readonly thread: ThreadFacts | undefined;
}

/** What a feature wants written. It is pure: made from a tail, and made anew for each tail that it may be written behind. */
export interface Plan {
  readonly append: Omit<AppendRequest, "expected">;
  /** The tail that it was made for. */
  readonly behind: Tail | undefined;
  /** Of a new thread. @default the record's write id */
  readonly generation?: string;
  /** Whether the record that is there instead is this one, written by an earlier attempt. @default if it is the very same record */
  readonly isMine?: (occupant: LogEntry) => boolean;
}

/** A plan as it was written. */
export interface Appended {
  readonly request: AppendRequest;
  /** The record as it is stored, perhaps by an earlier attempt. */
  readonly entry: LogEntry;
}

/** What became of the attempts of one append. */
export interface Attempts {
  request: AppendRequest | undefined;
  /** What was sent without an answer. */
  readonly sent: LogEntry[];
  /** An attempt got no answer, so its record may be there. */
  isInDoubt: boolean;
  /** Such a record was looked for at its place, and there is none: it was never there, or is no more. */
  isUnseen: boolean;
  /** The last attempt ended with an error of the storage. */
  isFailed: boolean;
  /** What to tell the caller of a write that may have been made. */
  readonly ifMayBe?: string;
}

/** Makes a plan for this tail, or none where nothing is to be written behind it. `isRetry`: another writer was faster. */
export type Planner = (tail: Tail | undefined, isRetry: boolean) => Plan | undefined | Promise<Plan | undefined>;

const PAGE = 500;

/**
 * One thread, for one operation: what lies between the features and the log. Here
 * is the only loop that appends until it wins or its plan is withdrawn, and here
 * alone it is decided whether a record in the way is the caller's own.
 */
export class Thread {
  readonly context: CheckpointContext;
  readonly id: string;
  readonly operation: string;

  constructor(context: CheckpointContext, id: string, operation: string) {
    this.context = context;
    this.id = id;
    this.operation = operation;
  }

  /** A guarded call about this thread. */
  call<T>(work: (log: ThreadLog) => Promise<T>, failed?: (error: unknown) => void): Promise<T> {
    return this.context.call({ operation: this.operation, threadId: this.id }, work, failed);
  }

  async tail(): Promise<Tail | undefined> {
    const found = await this.call((log) => log.tail(this.id));
    return found && tailOf(found);
  }

  /** The entry of the newest checkpoint below `before`, or of all. */
  async newest(before?: number): Promise<LogEntry | undefined> {
    const options = before === undefined ? { limit: 1 } : { before, limit: 1 };
    return (await this.call((log) => log.list(this.id, options)))[0];
  }

  named(checkpointId: string): Promise<LogEntry | undefined> {
    return this.call((log) => log.entry(this.id, checkpointId));
  }

  chainOf(checkpointId: string): Promise<LogChain | undefined> {
    return this.call((log) => log.readCheckpoint(this.id, checkpointId));
  }

  /** Every checkpoint's entry, newest first. */
  async *entries(): AsyncGenerator<LogEntry, void, undefined> {
    let before: number | undefined;
    do {
      const options = before === undefined ? { limit: PAGE } : { limit: PAGE, before };
      const found = await this.call((log) => log.list(this.id, options));
      yield* found;
      before = found.length < PAGE ? undefined : found.at(-1)?.seq;
    } while (before !== undefined);
  }

  /** The records below `before` with their bodies, and the tail as of that moment; `undefined` where there are none. */
  async page(before: number | undefined, limit: number): Promise<LogChain | undefined> {
    const options = before === undefined ? { limit } : { before, limit };
    const chain = await this.call((log) => log.readRecords(this.id, options));
    return chain === undefined || chain.records.length === 0 ? undefined : chain;
  }

  /**
   * Appends what `plan` makes of the tail. Where another writer was faster, `plan` is asked again with the tail that is
   * there now; `undefined` from it ends the loop, and nothing is written.
   */
  async append(
    first: Tail | undefined,
    plan: Planner,
    attempts: Attempts = { request: undefined, sent: [], isInDoubt: false, isUnseen: false, isFailed: false },
  ): Promise<Appended | undefined> {
    let tail = first;
    let last: KnownPlace | undefined;
    let hasMoved = false;
    for (let races: LostRaces | undefined; ; ) {
      const asked = plan(tail, races !== undefined);
      const made = asked instanceof Promise ? await asked : asked;
      if (made === undefined) return undefined;
      const { append, behind, generation = append.record.writeId, isMine } = made;
      const expected = behind === undefined ? beginningOf(generation) : placeOf(behind);
      const request = { ...append, expected };
      attempts.request = request;
      let outcome: AppendOutcome;
      try {
        outcome = await this.call(
          (log) => log.append(this.id, request),
          (error) => {
            if (!mayBeWritten(this.context.log, error)) return;
            attempts.isInDoubt = true;
            if (attempts.sent.at(-1) !== request.record) attempts.sent.push(request.record);
          },
        );
      } catch (error) {
        attempts.isFailed = true;
        throw sayingWhetherWritten(error, attempts.isInDoubt, attempts.ifMayBe);
      }
      if (outcome.appended) return { request, entry: append.record };
      const { occupant } = outcome;
      if (occupant !== undefined && (isSameRecord(occupant, append.record) || isMine?.(occupant))) {
        return { request, entry: occupant };
      }
      if (attempts.isInDoubt && occupant === undefined) attempts.isUnseen = true;
      hasMoved ||= last !== undefined && last.seq + expected.seq > 0 && !isSamePlace(last, expected);
      last = expected;
      races ??= new LostRaces(this.context, this.operation, this.id);
      if (races.isOver()) throw hasMoved ? races.error() : this.#answersWithThePast(expected);
      tail = tailIn(outcome);
    }
  }

  /** No record of another writer was ever seen, so there is none to blame. */
  #answersWithThePast({ seq }: KnownPlace): StateError {
    const { name } = this.context.log;
    const { id: threadId, operation } = this;
    const newest = seq === 0 ? "that there is no such thread" : `with record ${seq} as the newest of the thread`;
    return new StateError(
      "CONFLICT",
      `${name}: ${operation} of thread ${JSON.stringify(threadId)} failed: the storage answers ${newest}, and refuses every record that follows it. It reads an older history than it writes to: a replica that is behind, or a backup that was put back in part. Nothing was written`,
      { backend: name, operation, threadId, written: "no" },
    );
  }

  /** One append behind exactly the tail that the plan was made for; `undefined` if another writer was faster. */
  appendOnce(plan: Plan): Promise<Appended | undefined> {
    return this.append(plan.behind, (_, isRetry) => (isRetry ? undefined : plan));
  }

  /** Removes the thread while this is its tail, or whatever its tail is. A failure says whether it may be gone all the same. */
  async remove(at: KnownPlace | undefined): Promise<"removed" | "absent" | "moved"> {
    let mayBe = false;
    try {
      return await this.call(
        (log) => log.remove(this.id, at && placeOf(at)),
        (error) => {
          mayBe ||= mayBeWritten(this.context.log, error);
        },
      );
    } catch (error) {
      throw sayingWhetherWritten(error, mayBe, "It may have been carried out; deleting again is safe");
    }
  }

  /** Counts what this operation loses to other writers in a loop of its own. */
  races(most?: number): LostRaces {
    return new LostRaces(this.context, this.operation, this.id, most);
  }

  /** An error with the place of this operation, if it does not name one. */
  guard<T>(work: () => Promise<T>): Promise<T> {
    return this.context.guard({ operation: this.operation, threadId: this.id }, work);
  }
}

const placeOf = ({ generation, seq, writeId }: KnownPlace): KnownPlace => ({ generation, seq, writeId });

export function tailOf({ generation, entry }: ThreadTail): Tail {
  const { seq, writeId, base, head, checkpointId } = entry;
  const { kind, thread } = openHeader(entry);
  return { generation, seq, writeId, base, head, checkpointId, isMark: kind === "edit" || kind === "lease", thread };
}

const tailIn = ({ tail, generation }: Extract<AppendOutcome, { appended: false }>): Tail | undefined =>
  tail === undefined || generation === undefined ? undefined : tailOf({ generation, entry: tail });

/** The tail that a record makes, behind which the next one goes. */
export const tailBehind = (generation: string, record: LogRecord): Tail => tailOf({ generation, entry: record });

/** How often records of the thread were replaced or removed. */
export const editsAt = ({ thread }: Pick<Tail, "thread">): number => thread?.edits ?? 0;

/** How often a legal hold was placed on the thread. */
export const holdsAt = ({ thread }: Pick<Tail, "thread">): number => thread?.holds ?? 0;

/** How often personal data was erased from the thread. */
export const erasuresAt = ({ thread }: Pick<Tail, "thread">): number => thread?.erasures ?? 0;

export type Edits = Pick<AppendRequest, "replace" | "drop" | "dropBelow">;

/** A record that says something of the thread and leaves its state alone. Marks do not pile up: it replaces one at the tail. */
export function planMark(
  { context }: Thread,
  kind: "edit" | "lease",
  tail: Tail | undefined,
  thread: ThreadFacts | undefined,
  { edits = {}, head }: { readonly edits?: Edits; readonly head?: LogEntry } = {},
): Plan {
  const seq = (tail?.seq ?? 0) + 1;
  // A thread without a checkpoint has nothing that has to be read before the mark.
  const lowest = tail === undefined || (tail.head === 0 && kind === "lease") ? seq : tail.base;
  const base = head?.base ?? Math.max(lowest, edits.dropBelow ?? 0);
  const parts = { seq, writeId: newId(), base, head: head?.seq ?? tail?.head ?? 0 };
  const stray = tail === undefined ? [] : straySignals(tail);
  const drop = droppingMark(tail, stray.length === 0 ? edits.drop : [...(edits.drop ?? []), ...stray]);
  const facts = stray.length === 0 ? thread : withMail(thread, undefined);
  return {
    behind: tail,
    append: { ...edits, record: markRecord(kind, parts, context.now(), facts), ...(drop && { drop }) },
  };
}

/** What an append drops that comes behind this tail. */
export const droppingMark = (tail: Tail | undefined, drop?: readonly number[]): readonly number[] | undefined =>
  tail?.isMark === true ? [...(drop ?? []), tail.seq] : drop;

/** Each lost race is a record that another writer wrote. This many in a row mean a writer that leaves no room. */
const MOST_RACES = 1000;

/** The longest wait for room after the first: on a slow storage, a thousand races would take minutes. */
const LONGEST_RACE_MS = 5_000;

/**
 * A caller may always lose this many races. A storage or a machine that stalls makes one race as long as a thousand,
 * and of two writers that take turns at random on a slow storage, one in a thousand loses ten in a row, and one in 10^9
 * thirty.
 */
const FEWEST_RACES = 30;

/** Counts the races that one call lost against other writers, so that no loop runs for ever. */
export class LostRaces {
  readonly #context: CheckpointContext;
  readonly #operation: string;
  readonly #threadId: string;
  readonly #most: number;
  #lost = 0;
  #end: number | undefined;

  constructor(context: CheckpointContext, operation: string, threadId: string, most: number = MOST_RACES) {
    this.#context = context;
    this.#operation = operation;
    this.#threadId = threadId;
    this.#most = most;
  }

  /** Counts one more; throws if there were too many, or if they took too long. */
  lost(): void {
    if (this.isOver()) throw this.error();
  }

  /** Counts one more, and says whether it was one too many. */
  isOver(): boolean {
    this.#lost++;
    const now = performance.now();
    this.#end ??= now + LONGEST_RACE_MS;
    return this.#lost >= this.#most || (this.#lost >= FEWEST_RACES && now >= this.#end);
  }

  error(): StateError {
    const { name } = this.#context.log;
    const which = `${name}: ${this.#operation} of thread ${JSON.stringify(this.#threadId)}`;
    return new StateError(
      "CONFLICT",
      `${which} lost ${this.#lost} compare-and-set attempts to other writers. Try again later; nothing was written`,
      { backend: name, operation: this.#operation, threadId: this.#threadId, written: "no" },
    );
  }
}

/** With these codes the storage, or this package, refused before anything was done. */
const DECLINED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "INVALID_ARGUMENT",
  "PERMISSION_DENIED",
  "TOO_LARGE",
  "UNSUPPORTED",
  "INCOMPATIBLE",
  "MISSING_DEPENDENCY",
  "CLOSED",
]);

/** Whether a write that ended with this error may have been applied all the same. */
export function mayBeWritten(log: ThreadLog, error: unknown): boolean {
  if (log.declined(error)) return false;
  const code = StateError.is(error) ? error.code : log.classify(error);
  return code === undefined || !DECLINED.has(code);
}

/**
 * The same error, which now says whether the write may have been applied. An error
 * that already says so, or concerns the call itself, is left unchanged.
 */
export function sayingWhetherWritten(
  error: unknown,
  mayBe: boolean,
  ifMayBe = "It may have been written; saving the same state again applies it once",
): unknown {
  if (!StateError.is(error) || error.code === "INVALID_ARGUMENT" || error.context.written !== undefined) return error;
  const meaning = mayBe ? ifMayBe : "Nothing was written";
  return new StateError(error.code, `${error.message.replace(/(?<![.;\s])[.;\s]+$/, "")}. ${meaning}`, {
    ...error.context,
    written: mayBe ? "unknown" : "no",
    cause: error.cause,
  });
}

/** Whether a refused save says that an earlier attempt at it may have been applied: then the change is not made again unseen. */
export const mayBeThereAlready = (error: unknown): boolean =>
  StateError.is(error) && error.context.written === "unknown";
