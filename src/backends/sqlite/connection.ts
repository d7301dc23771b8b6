import { setImmediate as nextTurn } from "node:timers/promises";
import type { Lease } from "../../driver/connection.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import { sleep } from "../../internal/sleep.ts";
import { isBusy, isInsideTransaction, openingFailure, writingFailure } from "./classify.ts";
import type { ConnectionSettings, SqliteConnection } from "./connect.ts";
import type { SqliteHandle } from "./handle.ts";
import { scrubFile } from "./scrubbing.ts";

interface Opened<Statements> {
  readonly handle: SqliteHandle;
  readonly statements: Statements;
}

/** For so long a caller may go from call to call before timers and sockets get their turn. */
const LONGEST_TURN_MS = 5;

/**
 * The transactions of one facet, over a connection that others may hold too.
 * `prepare` brings the facet's tables up to date and prepares its statements. SQLite works while the process waits, so
 * every call is as short as it can be, and between calls the event loop turns:
 * a loop of many calls must not keep a timer from firing. Where another process
 * holds the lock, a call is tried again without blocking this one.
 */
export class Connection<Statements> {
  readonly #settings: ConnectionSettings;
  readonly #opened: Lease<Opened<Statements>>;
  #turnBegan = 0;

  constructor(shared: SqliteConnection, prepare: (handle: SqliteHandle) => Promise<Statements>) {
    this.#settings = shared.settings;
    this.#opened = shared.lease(async (handle) => ({ handle, statements: await this.#prepared(prepare(handle)) }));
  }

  /** All that `work` reads is as of one moment. What it reads inside a transaction that is not ours may be undone. */
  read<T>(work: (statements: Statements, isOurs: boolean) => T): Promise<T> {
    return this.#untilFree(({ handle, statements }) => {
      if (!beginReading(handle)) return work(statements, false);
      return inTransaction(handle, () => work(statements, true));
    });
  }

  /** All that `work` does is done, or nothing. */
  async write<T>(work: (statements: Statements) => T): Promise<T> {
    try {
      return await this.#untilFree(({ handle, statements }) => {
        handle.transaction.begin.run();
        return inTransaction(handle, () => work(statements));
      });
    } catch (error) {
      throw writingFailure(error);
    }
  }

  /** After a write that took something away: what is left of it in the write-ahead log goes, too. */
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
      await this.#takeTurn();
      try {
        return attempt(await this.#opened.get());
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
        await sleep(Math.random() * pause);
      }
    }
  }

  async #takeTurn(): Promise<void> {
    if (performance.now() - this.#turnBegan < LONGEST_TURN_MS) return;
    await nextTurn();
    this.#turnBegan = performance.now();
  }

  async #prepared(preparing: Promise<Statements>): Promise<Statements> {
    try {
      return await preparing;
    } catch (error) {
      const { path, database: given } = this.#settings;
      throw given === undefined ? openingFailure(path, error) : error;
    }
  }
}

/** False in a transaction of the connection's owner, which holds one moment still already. */
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

/** SQLite has undone it itself after some errors; then there is nothing left to roll back. */
function rollback({ transaction }: SqliteHandle): void {
  try {
    transaction.rollback.run();
  } catch {
    // The error that matters is the one that brought us here.
  }
}
