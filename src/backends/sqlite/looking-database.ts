import { closeSync, openSync, readSync, statSync } from "node:fs";
import { noStoreHere } from "../../driver/access.ts";
import { openingFailure } from "./classify.ts";
import { isInMemory, type SqliteDatabase, type SqliteStatement, type SqliteValue } from "./connect.ts";
import { BUSY_TIMEOUT_MS, loadOpener, type Opener } from "./open-file.ts";

/** Opens a file with read access: creates nothing, neither the file nor a write-ahead log beside it. */
export async function openForLooking(path: string): Promise<LookingDatabase> {
  if (isInMemory(path)) throw noStoreHere("a database in memory begins empty");
  return new LookingDatabase(path, await loadOpener());
}

/** A version of the file that is not being written. */
interface Untouched {
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ino: bigint;
}

interface Opened {
  readonly database: SqliteDatabase;
  readonly statements: Map<string, SqliteStatement>;
  /** Present if the file is read without a lock, so that others may change it meanwhile. */
  readonly asOf: Untouched | undefined;
}

/**
 * A file that is only read. While a writer has it open, its companion files (`-wal`
 * and `-shm`) exist, and this is a plain read-only connection. Without a writer,
 * such a connection would create them and leave them behind, owned by the reader's
 * user, and the next writer might not be able to open them. So the file is then
 * opened as immutable. That needs no lock, but SQLite would not notice a new writer:
 * the file is compared before and after every transaction, and what was read from a
 * file that changed meanwhile is discarded and read again.
 */
export class LookingDatabase implements SqliteDatabase {
  readonly #path: string;
  readonly #open: Opener;
  #opened: Opened | undefined;
  #isInTransaction = false;

  constructor(path: string, open: Opener) {
    this.#path = path;
    this.#open = open;
  }

  exec(sql: string): unknown {
    return this.#current().database.exec(sql);
  }

  /** Prepared when it is used, because the file may have been reopened since. */
  prepare(sql: string): SqliteStatement {
    return {
      run: (...values: SqliteValue[]) => this.#compared(() => this.#run(sql, values)),
      get: (...values) => this.#compared(() => this.#statement(sql).get(...values)),
      all: (...values) => this.#compared(() => this.#statement(sql).all(...values)),
    };
  }

  close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.database.close();
  }

  /** Compares the file around `work`; inside a transaction, its begin and its end do that. */
  #compared<T>(work: () => T): T {
    if (!this.#isInTransaction) this.#reopenIfOutdated();
    const done = work();
    const disturbance = this.#isInTransaction ? undefined : this.disturbance();
    if (disturbance !== undefined) throw disturbance;
    return done;
  }

  #run(sql: string, values: readonly SqliteValue[]): ReturnType<SqliteStatement["run"]> {
    const done = this.#statement(sql).run(...values);
    if (sql.startsWith("BEGIN")) this.#isInTransaction = true;
    if (sql === "COMMIT" || sql === "ROLLBACK") this.#isInTransaction = false;
    return done;
  }

  #statement(sql: string): SqliteStatement {
    const { database, statements } = this.#current();
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  #current(): Opened {
    this.#opened ??= this.#connect();
    return this.#opened;
  }

  #reopenIfOutdated(): void {
    const asOf = this.#opened?.asOf;
    if (asOf !== undefined && !(isSame(asOf, untouched(this.#path)) && !hasWriter(this.#path))) this.close();
  }

  /** Present if the file has changed since the last transaction began: then its result means nothing, even if it was an error. */
  disturbance(): Error | undefined {
    const asOf = this.#opened?.asOf;
    return asOf === undefined || isSame(asOf, untouched(this.#path)) ? undefined : disturbed();
  }

  #connect(): Opened {
    try {
      const asOf = keepsWriteAheadLog(this.#path) && !hasWriter(this.#path) ? untouched(this.#path) : undefined;
      if (asOf !== undefined && isFresh(asOf)) throw disturbed();
      const database = asOf === undefined ? this.#open.forReading(this.#path) : this.#open.unchanging(this.#path);
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      return { database, statements: new Map(), asOf };
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") {
        throw noStoreHere(`the file ${JSON.stringify(this.#path)} does not exist`, error);
      }
      throw openingFailure(this.#path, error, "read");
    }
  }
}

/** File systems record the time of a change in steps of up to 10 ms. Within one step a second change looks like the first. */
const CLOCK_STEP_MS = 20;

const isFresh = ({ mtimeNs }: Untouched): boolean =>
  Math.abs(Date.now() - Number(mtimeNs / 1_000_000n)) < CLOCK_STEP_MS;

const untouched = (path: string): Untouched => statSync(path, { bigint: true });

const isSame = (a: Untouched, b: Untouched): boolean => a.size === b.size && a.mtimeNs === b.mtimeNs && a.ino === b.ino;

/** From the file's header: 1 means a rollback journal, 2 a write-ahead log. */
function keepsWriteAheadLog(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(20);
    return readSync(file, header, 0, 20, 0) === 20 && header[18] === 2;
  } finally {
    closeSync(file);
  }
}

/** A writer has the file open, or died: part of the content is only in the write-ahead log. */
function hasWriter(path: string): boolean {
  const [log, index] = ["-wal", "-shm"].map((end) => statSync(`${path}${end}`, { throwIfNoEntry: false }));
  return log !== undefined && (log.size > 0 || index !== undefined);
}

/** SQLite's own "busy" error: the transaction is retried. */
const disturbed = (): Error => Object.assign(new Error("the file was written a moment ago"), { code: "SQLITE_BUSY" });
