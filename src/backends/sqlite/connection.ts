import { setImmediate as nextTurn } from "node:timers/promises";
import { OpenOnce } from "../../driver/open-once.ts";
import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/sleep.ts";
import { isBusy, isInsideTransaction, openingFailure, writingFailure } from "./classify.ts";
import { configure, openFile, type SqliteDatabase } from "./connect.ts";
import { Erasure } from "./erasure.ts";
import type { TableNames } from "./layout.ts";
import { prepareTables } from "./prepare-tables.ts";
import { prepareStatements, type Statements } from "./statements.ts";

export interface ConnectionOptions {
  readonly path: string;
  /** A connection of the caller's, which stays the caller's. */
  readonly database?: SqliteDatabase;
  readonly busyTimeoutMs: number;
  readonly secureDelete: boolean;
}

interface Opened {
  readonly database: SqliteDatabase;
  readonly statements: Statements;
  readonly erasure: Erasure | undefined;
  readonly isReadOnly: boolean;
}

/** For so long a caller may go from call to call before timers and sockets get their turn. */
const LONGEST_TURN_MS = 5;

/**
 * One connection and its transactions. SQLite works while the process waits, so
 * every call is as short as it can be, and between calls the event loop turns:
 * a loop of many calls must not keep a timer from firing. Where another process
 * holds the lock, a call is tried again without blocking this one.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #names: TableNames;
  readonly #opened: OpenOnce<Opened> = new OpenOnce(() => this.#connect());
  #closed = false;
  #turnBegan = 0;

  constructor(options: ConnectionOptions, names: TableNames) {
    this.#options = options;
    this.#names = names;
  }

  /** All that `work` reads is as of one moment. */
  read<T>(work: (statements: Statements) => T): Promise<T> {
    return this.#untilFree(({ statements }) => {
      if (!beginReading(statements)) return work(statements);
      return inTransaction(statements, () => work(statements));
    });
  }

  /** All that `work` does is done, or nothing. */
  async write<T>(work: (statements: Statements) => T): Promise<T> {
    try {
      return await this.#untilFree(({ statements }) => {
        statements.begin.run();
        return inTransaction(statements, () => work(statements));
      });
    } catch (error) {
      throw writingFailure(error);
    }
  }

  /** After a write that took something away: what is left of it in the write-ahead log goes, too. */
  async erased(): Promise<void> {
    (await this.#open()).erasure?.request();
  }

  async isReadOnly(): Promise<boolean> {
    return (await this.#open()).isReadOnly;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const opened = await this.#opened.opened();
    opened?.erasure?.finish();
    if (this.#options.database === undefined) opened?.database.close();
  }

  async #untilFree<T>(attempt: (opened: Opened) => T): Promise<T> {
    const deadline = performance.now() + this.#options.busyTimeoutMs;
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      await this.#takeTurn();
      try {
        return attempt(await this.#open());
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

  #open(): Promise<Opened> {
    if (this.#closed) throw new StateError("CLOSED", "the database was closed");
    return this.#opened.get();
  }

  async #connect(): Promise<Opened> {
    const { path, database: given, secureDelete } = this.#options;
    const { database, isReadOnly } =
      given === undefined ? await openFile(path) : { database: given, isReadOnly: false };
    try {
      if (given === undefined && !isReadOnly) configure(database, { secureDelete });
      await prepareTables(database, this.#names, isReadOnly);
      const erases = given === undefined && !isReadOnly && secureDelete;
      const statements = prepareStatements(database, this.#names);
      return { database, statements, erasure: erases ? new Erasure(database) : undefined, isReadOnly };
    } catch (error) {
      if (given !== undefined) throw error;
      database.close();
      throw openingFailure(path, error);
    }
  }
}

/** False in a transaction of the connection's owner, which holds one moment still already. */
function beginReading(statements: Statements): boolean {
  try {
    statements.beginReading.run();
    return true;
  } catch (error) {
    if (isInsideTransaction(error)) return false;
    throw error;
  }
}

function inTransaction<T>(statements: Statements, work: () => T): T {
  try {
    const result = work();
    statements.commit.run();
    return result;
  } catch (error) {
    rollback(statements);
    throw error;
  }
}

/** SQLite has undone it itself after some errors; then there is nothing left to roll back. */
function rollback({ rollback: undo }: Statements): void {
  try {
    undo.run();
  } catch {
    // The error that matters is the one that brought us here.
  }
}
