import { assertAppend } from "../../checkpoint/append-rules.ts";
import type {
  AppendOutcome,
  AppendRequest,
  Durability,
  LogCapabilities,
  LogChain,
  LogEntry,
  LogPage,
  LogRecord,
  SearchHit,
  ThreadEntry,
  ThreadLog,
} from "../../checkpoint/thread-log.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { sleep } from "../../internal/sleep.ts";
import { classify, isBusy } from "./classify.ts";
import { configure, durabilityOf, durabilityOfConnection, openDatabase, type SqliteDatabase } from "./connect.ts";
import { prepareTables, ROWS_PER_THREAD, type TableNames, tableNames } from "./layout.ts";
import { hasMember, isPlainKey } from "./metadata.ts";
import { type EntryRow, type RecordRow, rowId, type ThreadRow, toEntry, toRecord } from "./rows.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import { dropRange, edit, indexSome, insert, refusal } from "./write-rows.ts";

type ThreadHeadRow = EntryRow & { readonly thread_id: string };

interface Connection {
  readonly database: SqliteDatabase;
  readonly statements: Statements;
}

export interface SqliteLogOptions {
  readonly path: string;
  readonly database?: SqliteDatabase;
  readonly tablePrefix: string;
  readonly busyTimeoutMs: number;
  readonly durability: Durability;
}

/** Everything a log needs, with the defaults filled in. */
export function logOptions(given: Partial<SqliteLogOptions>): SqliteLogOptions {
  const { path = "holdfast.db", database, tablePrefix = "holdfast_", busyTimeoutMs = 10_000 } = given;
  const durability = database === undefined ? durabilityOf(path) : durabilityOfConnection(database);
  return { path, ...(database !== undefined && { database }), tablePrefix, busyTimeoutMs, durability };
}

/**
 * Threads in a SQLite file. Every method is one statement or one transaction
 * that runs without giving up control in between; when another process holds
 * the lock, it is tried again without blocking this one's event loop.
 */
export class SqliteLog implements ThreadLog {
  readonly name = "sqlite";
  readonly capabilities: LogCapabilities;
  readonly #options: SqliteLogOptions;
  readonly #names: TableNames;
  #opening: Promise<Connection> | undefined;
  #closed = false;

  constructor(options: SqliteLogOptions) {
    this.#options = options;
    this.#names = tableNames(options.tablePrefix);
    this.capabilities = {
      durability: options.durability,
      conditionalAppend: true,
      listThreads: true,
      // A file has no server that would remove anything while no program runs: a promise of expiry would be
      // one that nobody keeps. `vacuum({ olderThanDays })` from a timer is the honest tool.
      ttl: false,
      maxRecordBytes: 64 * 1024 * 1024,
      maxChainRecords: Number.POSITIVE_INFINITY,
    };
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    const { record, generation, expected } = request;
    if (record.seq >= ROWS_PER_THREAD) throw tooManyRecords(threadId);
    return this.#transaction((statements) => {
      const row =
        expected === 0
          ? statements.create.get(threadId, generation, record.seq, record.head)
          : statements.advance.get(record.seq, record.head, threadId, generation, expected);
      if (row === undefined) return refusal(statements, threadId, request);
      const { thread_no: threadNo, indexed = 0 } = row as Partial<ThreadRow> & Pick<ThreadRow, "thread_no">;
      edit(statements, threadNo, indexed, request);
      insert(statements, threadNo, record);
      return { appended: true };
    });
  }

  readTail(threadId: string): Promise<LogChain | undefined> {
    return this.#read(({ readTail }) => {
      const rows = readTail.all(threadId) as (RecordRow & { generation: string })[];
      const tail = rows.at(-1);
      return tail && { generation: tail.generation, tail: toEntry(tail), records: rows.map(toRecord) };
    });
  }

  readCheckpoint(threadId: string, checkpointId: string): Promise<LogChain | undefined> {
    return this.#transaction(({ readCheckpoint, tail }) => {
      const rows = readCheckpoint.all(checkpointId, threadId) as (RecordRow & { generation: string })[];
      const newest = tail.get(threadId) as EntryRow | undefined;
      const [first] = rows;
      if (first === undefined || newest === undefined) return undefined;
      return { generation: first.generation, tail: toEntry(newest), records: rows.map(toRecord) };
    }, "DEFERRED");
  }

  entry(threadId: string, checkpointId: string): Promise<LogEntry | undefined> {
    return this.#read(({ entry }) => {
      const row = entry.get(checkpointId, threadId) as EntryRow | undefined;
      return row && toEntry(row);
    });
  }

  tail(threadId: string): Promise<{ generation: string; entry: LogEntry } | undefined> {
    return this.#read(({ tail }) => {
      const row = tail.get(threadId) as (EntryRow & { generation: string }) | undefined;
      return row && { generation: row.generation, entry: toEntry(row) };
    });
  }

  list(threadId: string, options: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    const before = Math.min(options.before ?? ROWS_PER_THREAD, ROWS_PER_THREAD);
    return this.#read(({ list }) => (list.all(before, threadId, options.limit) as EntryRow[]).map(toEntry));
  }

  remove(threadId: string, ifTail?: { generation: string; seq: number }): Promise<"removed" | "absent" | "moved"> {
    return this.#transaction((statements) => {
      const thread = statements.thread.get(threadId) as ThreadRow | undefined;
      if (thread === undefined) return "absent";
      const same = thread.generation === ifTail?.generation && thread.tail === ifTail.seq;
      if (ifTail !== undefined && !same) return "moved";
      dropRange(statements, thread.thread_no, 0, ROWS_PER_THREAD - 1);
      statements.forget.run(thread.thread_no);
      return "removed";
    });
  }

  copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return this.#transaction((statements) => {
      const from = statements.thread.get(source) as ThreadRow | undefined;
      if (from === undefined) return "no source";
      const made = statements.create.get(target, generation, from.tail, from.head) as ThreadRow | undefined;
      if (made === undefined) return "target exists";
      const [first, last] = [rowId(from.thread_no, 0), rowId(from.thread_no, from.tail)];
      statements.copy.run(first, rowId(made.thread_no, 0), first, last);
      return "copied";
    });
  }

  listThreads(options: { prefix: string; cursor?: string; limit: number }): Promise<LogPage<ThreadEntry>> {
    const { prefix, cursor = "", limit } = options;
    const end = successorOf(prefix) ?? null;
    return this.#read(({ threads }) =>
      pageOf(threads.all(prefix, cursor, end, end, limit + 1) as ThreadHeadRow[], limit),
    );
  }

  /** SQL narrows to threads that have the key; the exact comparison is done on the text, where no value is coerced. */
  queryMetadata(
    key: string,
    valueJson: string,
    { cursor = "", limit, prefix = "" }: { cursor?: string; limit: number; prefix?: string },
  ): Promise<LogPage<ThreadEntry>> {
    const sqlKey = isPlainKey(key) ? key : null;
    const end = successorOf(prefix) ?? null;
    return this.#read(({ withKey }) => {
      const matches: ThreadHeadRow[] = [];
      let after = cursor;
      for (;;) {
        const rows = withKey.all(prefix, after, end, end, sqlKey, sqlKey, 500) as ThreadHeadRow[];
        matches.push(...rows.filter((row) => hasMember(row.metadata, key, valueJson)));
        const last = rows.at(-1);
        if (last === undefined || matches.length > limit) return pageOf(matches, limit);
        after = last.thread_id;
      }
    });
  }

  /** The index knows which records have the words and not how often: the less there is beside them, the better the hit. */
  search(
    words: readonly string[],
    { limit, prefix = "" }: { limit: number; prefix?: string },
  ): Promise<readonly SearchHit[]> {
    const end = successorOf(prefix) ?? null;
    const query = words.map((word) => `"${word.replaceAll('"', '""')}"*`).join(" ");
    return this.#read(({ search }) =>
      (search.all(query, prefix, end, end, limit) as (ThreadHeadRow & { length: number })[]).map((row) => ({
        threadId: row.thread_id,
        entry: toEntry(row),
        score: 1 / Math.sqrt(row.length),
      })),
    );
  }

  /** In short transactions, so that other writers get their turn in between. */
  async catchUp(wordsOf: (record: LogRecord) => string | undefined): Promise<void> {
    while (await this.#transaction((statements) => indexSome(statements, wordsOf)));
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const connection = await this.#opening?.catch(() => undefined);
    if (this.#options.database === undefined) connection?.database.close();
  }

  #read<T>(work: (statements: Statements) => T): Promise<T> {
    return this.#untilFree(async () => work((await this.#open()).statements));
  }

  #transaction<T>(work: (statements: Statements) => T, mode: "IMMEDIATE" | "DEFERRED" = "IMMEDIATE"): Promise<T> {
    return this.#untilFree(async () => {
      const { statements } = await this.#open();
      (mode === "IMMEDIATE" ? statements.begin : statements.beginReading).run();
      try {
        const result = work(statements);
        statements.commit.run();
        return result;
      } catch (error) {
        rollback(statements);
        throw error;
      }
    });
  }

  async #untilFree<T>(attempt: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#options.busyTimeoutMs;
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      try {
        return await attempt();
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
        await sleep(Math.random() * pause);
      }
    }
  }

  #open(): Promise<Connection> {
    if (this.#closed) throw new StateError("CLOSED", "the database was closed");
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<Connection> {
    const given = this.#options.database;
    const database = given ?? (await openDatabase(this.#options.path));
    try {
      if (given === undefined) configure(database);
      prepareTables(database, this.#names);
      return { database, statements: prepareStatements(database, this.#names) };
    } catch (error) {
      if (given === undefined) database.close();
      throw error;
    }
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

function pageOf(rows: readonly ThreadHeadRow[], limit: number): LogPage<ThreadEntry> {
  const shown = rows.slice(0, limit);
  const items = shown.map((row) => ({ threadId: row.thread_id, head: toEntry(row) }));
  return { items, cursor: rows.length > limit ? shown.at(-1)?.thread_id : undefined };
}

/** The smallest text that is greater than every text with this prefix, in code point order, which is SQLite's. */
function successorOf(prefix: string): string | undefined {
  const points = [...prefix];
  while (points.length > 0) {
    const next = (points.pop()?.codePointAt(0) ?? 0) + 1;
    if (next <= 0x10ffff) return points.join("") + String.fromCodePoint(next === 0xd800 ? 0xe000 : next);
  }
  return undefined;
}

const tooManyRecords = (threadId: string): StateError =>
  new StateError("TOO_LARGE", `a thread takes at most ${ROWS_PER_THREAD - 1} records`, { threadId });
