import { closeSync, openSync, readSync, statSync } from "node:fs";
import { noStoreHere } from "../../driver/access.ts";
import { openingFailure } from "./classify.ts";
import { isInMemory, type SqliteDatabase, type SqliteStatement, type SqliteValue } from "./connect.ts";
import { BUSY_TIMEOUT_MS, loadOpener, type Opener } from "./open-file.ts";

/** Opens a file for read access: nothing is made, neither the file nor a write-ahead log beside it. */
export async function openForLooking(path: string): Promise<LookingDatabase> {
  if (isInMemory(path)) throw noStoreHere("a database in memory begins empty");
  return new LookingDatabase(path, await loadOpener());
}

/** A version of the file that nobody is writing to. */
interface Untouched {
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ino: bigint;
}

interface Opened {
  readonly database: SqliteDatabase;
  readonly statements: Map<string, SqliteStatement>;
  /** Present where the file is read as it lies there, and no lock keeps others from changing it. */
  readonly asOf: Untouched | undefined;
}

/**
 * A file that is looked at. While a writer has it open, its companions (`-wal` and
 * `-shm`) are there, and this is a plain read-only connection. With no writer
 * about, such a connection would make them, and leave them behind as the property
 * of whoever looked, which the next writer may not be able to open. So the file is
 * then read as it lies there. That needs no lock, but SQLite would not notice a
 * writer that comes: before and after every transaction the file is compared, and
 * what was read from a file that changed meanwhile is thrown away and read again.
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

  /** Prepared where it is used, because the file may have been opened anew since. */
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

  /** Within a transaction that is its begin's and its end's part. */
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

  /** Present where the file has changed since the last transaction began: whatever came of it, damage too, means nothing. */
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

/** A file system tells the time of a change in steps of up to 10 ms: until they are over, a second change looks like the first. */
const CLOCK_STEP_MS = 20;

const isFresh = ({ mtimeNs }: Untouched): boolean =>
  Math.abs(Date.now() - Number(mtimeNs / 1_000_000n)) < CLOCK_STEP_MS;

const untouched = (path: string): Untouched => statSync(path, { bigint: true });

const isSame = (a: Untouched, b: Untouched): boolean => a.size === b.size && a.mtimeNs === b.mtimeNs && a.ino === b.ino;

/** What the header of the file says: 1 for a rollback journal, 2 for a write-ahead log. */
function keepsWriteAheadLog(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(20);
    return readSync(file, header, 0, 20, 0) === 20 && header[18] === 2;
  } finally {
    closeSync(file);
  }
}

/** A writer is about, or died: some of the content is in the write-ahead log alone. */
function hasWriter(path: string): boolean {
  const [log, index] = ["-wal", "-shm"].map((end) => statSync(`${path}${end}`, { throwIfNoEntry: false }));
  return log !== undefined && (log.size > 0 || index !== undefined);
}

/** As SQLite says that somebody else is at work: the transaction is tried again in a moment. */
const disturbed = (): Error => Object.assign(new Error("the file was written a moment ago"), { code: "SQLITE_BUSY" });
