import { setImmediate as nextTurn } from "node:timers/promises";
import type { Lease } from "../../driver/connection.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import { endOfLongTurn, sleep } from "../../internal/time.ts";
import { isBusy, isDeclined, isInsideTransaction, openingFailure, writingFailure } from "./classify.ts";
import type { ConnectionSettings, SqliteConnection } from "./connect.ts";
import type { SqliteHandle } from "./handle.ts";

/** What a facet does before its first transaction. */
export interface Prepared<Statements> {
  readonly statements: Statements;
  /** Throws where this build does not know the tables as they are now. */
  readonly assertCurrent: () => void;
}

interface Opened<Statements> extends Prepared<Statements> {
  readonly handle: SqliteHandle;
}

/**
 * The transactions of one facet, over a connection that may be shared. `prepare`
 * migrates the facet's tables and prepares its statements. SQLite blocks the process
 * while it works, so every call is kept short, and the event loop turns between
 * calls: a loop of many calls must not keep a timer from firing. While another
 * process holds the lock, a call is retried without blocking this process.
 */
export class Connection<Statements> {
  readonly #settings: ConnectionSettings;
  readonly #opened: Lease<Opened<Statements>>;
  readonly #groups = new WriteGroups<Statements>();
  #isWriting = false;

  constructor(shared: SqliteConnection, prepare: (handle: SqliteHandle) => Promise<Prepared<Statements>>) {
    this.#settings = shared.settings;
    this.#opened = shared.lease(async (handle) => ({ handle, ...(await this.#prepared(prepare(handle))) }));
  }

  /** Everything that `work` reads comes from one snapshot. Inside a transaction that is not ours, it may be rolled back. */
  read<T>(work: (statements: Statements, isOurs: boolean) => T): Promise<T> {
    return this.#transaction(work, true);
  }

  /** Either everything that `work` does is committed, or nothing. */
  async write<T>(work: (statements: Statements) => T): Promise<T> {
    try {
      return await this.#transaction(work, false);
    } catch (error) {
      throw writingFailure(error);
    }
  }

  /**
   * As `write`, in one transaction with others that wait at the same time. Only for
   * short work: no call is answered before all of them are done. `atOnce` does the same
   * in one statement, or returns `undefined` and does nothing: it is tried first.
   */
  together<T>(
    work: (statements: Statements) => T,
    atOnce?: (statements: Statements) => NonNullable<T> | undefined,
  ): Promise<T> {
    const written = this.#groups.add(work, performance.now() + this.#settings.busyTimeoutMs, atOnce);
    if (!this.#isWriting) void this.#writeGroups();
    return written;
  }

  /** To be called after a write that deleted something: removes its remains from the write-ahead log. */
  async erased(): Promise<void> {
    (await this.#opened.get()).handle.erasure?.request();
  }

  async scrub(): Promise<ScrubReport> {
    const { database, erasure } = (await this.#opened.get()).handle;
    const { scrubFile } = await import("./scrubbing.ts");
    return scrubFile(database, erasure);
  }

  async isReadOnly(): Promise<boolean> {
    return (await this.#opened.get()).handle.isReadOnly;
  }

  close(): Promise<void> {
    return this.#opened.release();
  }

  /** One transaction, repeated while another connection holds the lock. */
  async #transaction<T>(work: (statements: Statements, isOurs: boolean) => T, isReading: boolean): Promise<T> {
    const deadline = performance.now() + this.#settings.busyTimeoutMs;
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      const turn = endOfLongTurn();
      if (turn !== undefined) await turn;
      try {
        const { handle, statements, assertCurrent } = await this.#opened.get();
        const isOurs = begin(handle, isReading);
        try {
          assertCurrent();
          const result = work(statements, isOurs);
          if (isOurs) handle.transaction.commit.run();
          return result;
        } catch (error) {
          if (!isOurs) throw error;
          rollback(handle);
          throw handle.disturbance() ?? error;
        }
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
        await sleep(Math.random() * pause);
      }
    }
  }

  /** Ends when no call waits any more. Each failure goes to the calls that it concerns. */
  async #writeGroups(): Promise<void> {
    this.#isWriting = true;
    for (let pause = 1; this.#groups.waiting.length > 0; ) {
      const turn = this.#groups.isSharing ? nextTurn() : endOfLongTurn();
      if (turn !== undefined) await turn;
      try {
        // Awaited even when it is open: writes of the same moment join the group.
        this.#groups.commit(await this.#opened.get());
        pause = 1;
      } catch (error) {
        if (!isBusy(error)) this.#groups.fail(error);
        else await this.#waitForLock(error, pause);
        pause = Math.min(pause * 2, 50);
      }
    }
    this.#isWriting = false;
  }

  async #waitForLock(error: unknown, pause: number): Promise<void> {
    this.#groups.giveUp(error, performance.now());
    await sleep(Math.random() * pause);
  }

  async #prepared(preparing: Promise<Prepared<Statements>>): Promise<Prepared<Statements>> {
    try {
      return await preparing;
    } catch (error) {
      const { path, database: given } = this.#settings;
      throw given === undefined ? openingFailure(path, error) : error;
    }
  }
}

/** False inside a transaction of the connection's owner, which already holds a snapshot: what is read there is read in it. */
function begin({ place, transaction }: SqliteHandle, isReading: boolean): boolean {
  place?.assertKept(isReading);
  try {
    (isReading ? transaction.beginReading : transaction.begin).run();
    return true;
  } catch (error) {
    if (isReading && isInsideTransaction(error)) return false;
    throw error;
  }
}

/** One write that waits for its turn. */
interface Waiting<Statements> {
  readonly work: (statements: Statements) => unknown;
  /** The same in one statement, which needs neither a transaction nor a savepoint. `undefined` if it did nothing. */
  readonly atOnce: ((statements: Statements) => unknown) | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Until when it waits for another connection's lock. */
  readonly deadline: number;
  /** Its group was undone as a whole, perhaps because of this one: it gets a transaction of its own. */
  isAlone: boolean;
}

/** A group ends after this long, so that it holds neither the lock nor the process for longer; the others are the next one. */
const LONGEST_GROUP_MS = 5;

/**
 * Writes that wait at the same time share one transaction, and so one sync of
 * the disk. Each has a savepoint of its own and is answered for itself, after the
 * commit: one that fails is undone alone. Where SQLite undoes the whole
 * transaction because of one of them (no space, no memory), each is made again in
 * a transaction of its own.
 */
export class WriteGroups<Statements> {
  waiting: Waiting<Statements>[] = [];
  /** Writes that shared a transaction come back together: the next group is worth a turn of the event loop, a lone one is not. */
  isSharing = false;

  add<T>(
    work: (statements: Statements) => T,
    deadline: number,
    atOnce?: (statements: Statements) => NonNullable<T> | undefined,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const answered = resolve as (result: unknown) => void;
      this.waiting.push({ work, atOnce, resolve: answered, reject, deadline, isAlone: false });
    });
  }

  /**
   * Makes one transaction of the waiting calls. Throws if another connection has the lock (they keep waiting), or if
   * the file is gone.
   */
  commit(opened: Opened<Statements>): void {
    const { handle, statements, assertCurrent } = opened;
    handle.place?.assertKept();
    if (this.#isDoneAtOnce(opened)) return;
    const { transaction } = handle;
    transaction.begin.run();
    const taken: Waiting<Statements>[] = [];
    const answers: (() => void)[] = [];
    let commits = false;
    try {
      assertCurrent();
      const end = performance.now() + LONGEST_GROUP_MS;
      do {
        const [next] = this.waiting;
        if (next === undefined || (next.isAlone && taken.length > 0)) break;
        this.waiting.shift();
        taken.push(next);
        answers.push(this.#isOnly(next, taken) ? alone(next, statements) : inSavepoint(next, handle, statements));
        if (next.isAlone) break;
      } while (performance.now() < end);
      commits = true;
      transaction.commit.run();
    } catch (error) {
      rollback(handle);
      // Before anything was taken, it concerns every waiting call.
      if (taken.length === 0) throw error;
      this.#undone(taken, error, commits);
      return;
    }
    this.isSharing = taken.length > 1;
    for (const answer of answers) answer();
  }

  /** Rejects the calls that have waited long enough for another connection. */
  giveUp(error: unknown, now: number): void {
    const late = this.waiting.filter(({ deadline }) => deadline < now);
    this.waiting = this.waiting.filter(({ deadline }) => deadline >= now);
    for (const { reject } of late) reject(writingFailure(error));
  }

  /** Rejects every waiting call: no transaction can be begun. */
  fail(error: unknown): void {
    const failed = this.waiting;
    this.waiting = [];
    for (const { reject } of failed) reject(writingFailure(error));
  }

  /**
   * A lone writer's statement commits itself. Not on a connection that was handed
   * in: its owner may be in a transaction, which nothing here would notice.
   */
  #isDoneAtOnce({ handle, statements, assertCurrent }: Opened<Statements>): boolean {
    const [only] = this.waiting;
    if (only?.atOnce === undefined || this.waiting.length > 1 || !handle.isOurs) return false;
    try {
      assertCurrent();
      const result = only.atOnce(statements);
      if (result === undefined) return false;
      only.resolve(result);
    } catch (error) {
      if (isBusy(error)) throw error;
      only.reject(writingFailure(error));
    }
    this.waiting.shift();
    this.isSharing = false;
    return true;
  }

  /** One that has the transaction to itself needs no savepoint: what fails there undoes nothing else. */
  #isOnly({ isAlone }: Waiting<Statements>, taken: readonly unknown[]): boolean {
    return isAlone || (taken.length === 1 && this.waiting.length === 0);
  }

  /** The transaction is undone. Whether a commit that failed was made all the same, only some errors tell. */
  #undone(taken: readonly Waiting<Statements>[], error: unknown, commits: boolean): void {
    if (isBusy(error)) {
      this.waiting.unshift(...taken);
      throw error;
    }
    if (taken.length > 1 && (!commits || isDeclined(error))) {
      for (const one of taken) one.isAlone = true;
      this.waiting.unshift(...taken);
    } else for (const { reject } of taken) reject(writingFailure(error));
  }
}

/** Returns how it is answered once the transaction is committed. */
function alone<Statements>({ work, atOnce, resolve }: Waiting<Statements>, statements: Statements): () => void {
  const result = atOnce?.(statements) ?? work(statements);
  return () => resolve(result);
}

/** As `alone`, and what fails is taken back without the others. (A statement that fails has done nothing: then each goes alone.) */
function inSavepoint<Statements>(
  { work, atOnce, resolve, reject }: Waiting<Statements>,
  { transaction }: SqliteHandle,
  statements: Statements,
): () => void {
  const done = atOnce?.(statements);
  if (done !== undefined) return () => resolve(done);
  transaction.savepoint.run();
  try {
    const result = work(statements);
    transaction.release.run();
    return () => resolve(result);
  } catch (error) {
    if (isBusy(error) || !undoneAlone(transaction)) throw error;
    return () => reject(writingFailure(error));
  }
}

/** False where SQLite has undone the whole transaction itself, and the savepoint with it. */
function undoneAlone({ rollbackTo, release }: SqliteHandle["transaction"]): boolean {
  try {
    rollbackTo.run();
    release.run();
    return true;
  } catch {
    return false;
  }
}

/** After some errors SQLite has already rolled back; then there is nothing left to do. */
export function rollback({ transaction }: SqliteHandle): void {
  try {
    transaction.rollback.run();
  } catch {
    // The original error matters, not this one.
  }
}
