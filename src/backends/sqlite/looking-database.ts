import { type BigIntStats, statSync } from "node:fs";
import { noStoreHere } from "../../driver/access.ts";
import { openingFailure } from "./classify.ts";
import { isInMemory, type SqliteDatabase, type SqliteStatement, type SqliteValue } from "./connect.ts";
import { assertOneFile, CLOCK_STEP_MS, canonicalPath } from "./database-file.ts";
import { assertOneLibrary } from "./one-library.ts";
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
  /** The file's one name. */
  readonly path: string;
  /** As it was when it was opened. */
  readonly file: Untouched;
  /** It is read without a lock, so that others may change it meanwhile. */
  readonly isUnlocked: boolean;
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
    const opened = this.#opened;
    if (opened === undefined) return;
    const now = untouched(opened.path);
    const isCurrent = opened.isUnlocked
      ? now !== undefined && isSame(opened.file, now) && !hasWriter(opened.path)
      : now?.ino === opened.file.ino;
    if (!isCurrent) this.close();
  }

  /** Present if the file has changed since the last transaction began: then its result means nothing, even if it was an error. */
  disturbance(): Error | undefined {
    const opened = this.#opened;
    if (opened === undefined || !opened.isUnlocked) return undefined;
    const now = untouched(opened.path);
    return now !== undefined && isSame(opened.file, now) ? undefined : disturbed();
  }

  #connect(): Opened {
    try {
      const path = canonicalPath(this.#path);
      const stats = statSync(path, { bigint: true });
      assertOneFile(this.#path, stats);
      assertOneLibrary(path, this.#open.library);
      const file = comparable(stats);
      const unlocked = hasWriter(path) ? undefined : this.#withoutLocks(path, file);
      const database = unlocked ?? this.#open.forReading(path);
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      return { database, statements: new Map(), path, file, isUnlocked: unlocked !== undefined };
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") {
        throw noStoreHere(`the file ${JSON.stringify(this.#path)} does not exist`, error);
      }
      throw openingFailure(this.#path, error, "read");
    }
  }

  #withoutLocks(path: string, file: Untouched): SqliteDatabase | undefined {
    if (isFresh(file)) throw disturbed();
    const database = this.#open.unchanging(path);
    const now = untouched(path);
    if (database === undefined || (now !== undefined && isSame(file, now))) return database;
    database.close();
    throw disturbed();
  }
}

const isFresh = ({ mtimeNs }: Untouched): boolean =>
  Math.abs(Date.now() - Number(mtimeNs / 1_000_000n)) < CLOCK_STEP_MS;

const comparable = ({ size, mtimeNs, ino }: BigIntStats): Untouched => ({ size, mtimeNs, ino });

function untouched(path: string): Untouched | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && comparable(stats);
}

const isSame = (a: Untouched, b: Untouched): boolean => a.size === b.size && a.mtimeNs === b.mtimeNs && a.ino === b.ino;

/** A writer has the file open, or died: part of the content is only in the write-ahead log or in the journal. */
function hasWriter(path: string): boolean {
  const [journal, log, index] = ["-journal", "-wal", "-shm"].map((end) =>
    statSync(`${path}${end}`, { throwIfNoEntry: false }),
  );
  return journal !== undefined || (log !== undefined && (log.size > 0 || index !== undefined));
}

/** SQLite's own "busy" error: the transaction is retried. */
const disturbed = (): Error => Object.assign(new Error("the file was written a moment ago"), { code: "SQLITE_BUSY" });
