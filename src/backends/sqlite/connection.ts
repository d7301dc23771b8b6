import { setImmediate as nextTurn } from "node:timers/promises";
import type { Lease } from "../../driver/connection.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import { sleep } from "../../internal/time.ts";
import { isBusy, isInsideTransaction, openingFailure, writingFailure } from "./classify.ts";
import type { ConnectionSettings, SqliteConnection } from "./connect.ts";
import type { SqliteHandle } from "./handle.ts";
import { scrubFile } from "./scrubbing.ts";
import { rollback, WriteGroups } from "./write-groups.ts";

/** What a facet does before its first transaction. */
export interface Prepared<Statements> {
  readonly statements: Statements;
  /** Throws where this build does not know the tables as they are now. */
  readonly assertCurrent: () => void;
}

interface Opened<Statements> extends Prepared<Statements> {
  readonly handle: SqliteHandle;
}

/** Taken now: the fake timers of a test replace the global. */
const { setImmediate } = globalThis;

/** A caller may make calls for this long before timers and sockets get a turn. */
const LONGEST_TURN_MS = 5;

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
  /** Of the present turn of the event loop, where calls were made in it. */
  #turnBegan: number | undefined;

  constructor(shared: SqliteConnection, prepare: (handle: SqliteHandle) => Promise<Prepared<Statements>>) {
    this.#settings = shared.settings;
    this.#opened = shared.lease(async (handle) => ({ handle, ...(await this.#prepared(prepare(handle))) }));
  }

  /** Everything that `work` reads comes from one snapshot. Inside a transaction that is not ours, it may be rolled back. */
  read<T>(work: (statements: Statements, isOurs: boolean) => T): Promise<T> {
    return this.#untilFree(({ handle, statements, assertCurrent }) => {
      handle.place?.assertKept({ isReading: true });
      const current = (isOurs: boolean): T => {
        assertCurrent();
        return work(statements, isOurs);
      };
      return beginReading(handle) ? inTransaction(handle, () => current(true)) : current(false);
    });
  }

  /** Either everything that `work` does is committed, or nothing. */
  async write<T>(work: (statements: Statements) => T): Promise<T> {
    try {
      return await this.#untilFree(({ handle, statements, assertCurrent }) => {
        handle.place?.assertKept();
        handle.transaction.begin.run();
        return inTransaction(handle, () => {
          assertCurrent();
          return work(statements);
        });
      });
    } catch (error) {
      throw writingFailure(error);
    }
  }

  /**
   * As `write`, in one transaction with others that wait at the same time. Only
   * for what is short: nobody is answered before all of them are done. `atOnce`
   * does the same in one statement, or returns `undefined` and does nothing: it is
   * tried first.
   */
  together<T>(
    work: (statements: Statements) => T,
    atOnce?: (statements: Statements) => NonNullable<T> | undefined,
  ): Promise<T> {
    const written = this.#groups.add(work, performance.now() + this.#settings.busyTimeoutMs, atOnce);
    if (!this.#isWriting) void this.#writeGroups();
    return written;
  }

  /** To be called after a write that deleted something: removes what is left of it in the write-ahead log. */
  async erased(): Promise<void> {
    (await this.#opened.get()).handle.erasure?.request();
  }

  async scrub(): Promise<ScrubReport> {
    const { database, erasure } = (await this.#opened.get()).handle;
    return scrubFile(database, erasure);
  }

  async isReadOnly(): Promise<boolean> {
    return (await this.#opened.get()).handle.isReadOnly;
  }

  close(): Promise<void> {
    return this.#opened.release();
  }

  async #untilFree<T>(attempt: (opened: Opened<Statements>) => T): Promise<T> {
    const deadline = performance.now() + this.#settings.busyTimeoutMs;
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      const turn = this.#nextTurn();
      if (turn !== undefined) await turn;
      try {
        return attempt(await this.#opened.get());
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
        await sleep(Math.random() * pause);
      }
    }
  }

  /** Ends when nobody waits any more. Whatever fails is told to those whom it concerns. */
  async #writeGroups(): Promise<void> {
    this.#isWriting = true;
    for (let pause = 1; this.#groups.size > 0; ) {
      const turn = this.#nextTurn(this.#groups.isSharing);
      if (turn !== undefined) await turn;
      try {
        // Awaited also where it is open: whoever writes at the same moment joins the group.
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

  /** `undefined` if there is nothing to wait for: one call after a pause takes no turn, a loop of calls takes one now and then. */
  #nextTurn(isWorthIt = false): Promise<void> | undefined {
    const now = performance.now();
    this.#turnBegan ??= this.#begun(now);
    return isWorthIt || now - this.#turnBegan >= LONGEST_TURN_MS ? nextTurn() : undefined;
  }

  #begun(now: number): number {
    setImmediate(() => {
      this.#turnBegan = undefined;
    });
    return now;
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

/** False inside a transaction of the connection's owner, which already holds a snapshot. */
function beginReading({ transaction }: SqliteHandle): boolean {
  try {
    transaction.beginReading.run();
    return true;
  } catch (error) {
    if (isInsideTransaction(error)) return false;
    throw error;
  }
}

function inTransaction<T>(handle: SqliteHandle, work: () => T): T {
  try {
    const result = work();
    handle.transaction.commit.run();
    return result;
  } catch (error) {
    rollback(handle);
    throw handle.disturbance() ?? error;
  }
}
