/** Long because it is the whole contract of a log: a short method for each duty, whose steps live in files of their own. */

import { assertAppend, firstUnknown, isSamePlace } from "../../checkpoint/log/driver-rules.ts";
import {
  type AppendOutcome,
  type AppendRequest,
  BaseThreadLog,
  type FoundRecords,
  type KnownPlace,
  type ListedThread,
  type LogCapabilities,
  type LogChain,
  type LogEntry,
  type LogPage,
  type SearchRange,
  type ThreadLog,
  type WithRecords,
} from "../../checkpoint/log/thread-log.ts";
import { memberOf, UNINDEXED } from "../../checkpoint/sql-log/members.ts";
import { StateError } from "../../errors.ts";
import { Recent } from "../../internal/recent.ts";
import { classify, isDeclined } from "./classify.ts";
import type { SqliteConnection } from "./connect.ts";
import { Connection } from "./connection.ts";
import { tableNames } from "./layout.ts";
import { moveMembers } from "./metadata.ts";
import {
  assertAbsent,
  type FoundMember,
  findThread,
  hasName,
  headMetadata,
  listed,
  listedWithMember,
  pageOf,
  positionBelow,
  rangeOf,
  readAt,
  readBackwards,
  readNamed,
  readRecords,
  readShortThread,
  readThread,
  successorOf,
  type ThreadHeadRow,
  type ThreadToAppend,
} from "./read-rows.ts";
import {
  damagedIndex,
  type EntryRow,
  isProvenThread,
  placeInRow,
  ROWS_PER_THREAD,
  rowId,
  startOf,
  type ThreadRow,
  toEntry,
} from "./rows.ts";
import type { Statements } from "./statements.ts";
import { unindexSome, type WordsOf, wordsOfRecord } from "./words-index.ts";
import { appendBehind, appendInSteps, createThread, dropThread, isOneRow } from "./write-rows.ts";

export interface SqliteLogOptions {
  readonly connection: SqliteConnection;
  readonly tablePrefix: string;
  /** How many hits a search ranks at most. */
  readonly searchRanksUpTo: number;
}

/** How many threads' rows are remembered, a few hundred bytes each. */
const ROWS_KEPT = 1024;
/** Metadata longer than this is not kept: it is read again for each append. */
const MOST_METADATA_KEPT = 4096;
/** How many threads one step of a walk over all threads reads. */
const THREADS_PER_STEP = 500;
/** How many entries one step of a walk over a thread reads. */
const ENTRIES_PER_STEP = 500;
/** The thread is there, and no checkpoint of that name. */
const UNNAMED = Symbol("unnamed");
/** How many rows of the index of metadata one step reads at least: not all of them need be what is asked for. */
const LEAST_MEMBERS_PER_STEP = 20;

/** Threads in a SQLite file. Every method is one transaction, or a walk of short ones. */
export class SqliteLog extends BaseThreadLog implements ThreadLog {
  readonly name = "sqlite";
  readonly capabilities: LogCapabilities;
  readonly classify: ThreadLog["classify"] = classify;
  override readonly declined: ThreadLog["declined"] = isDeclined;
  override readonly scrub: ThreadLog["scrub"] = () => this.#connection.scrub();
  readonly #connection: Connection<Statements>;
  readonly #options: SqliteLogOptions;
  /** As the last appends left them: the next one compares every column before it relies on them. */
  readonly #rows = new Recent<ThreadToAppend>(ROWS_KEPT);
  /** Set by the last indexing: it knows best which words a record contains. */
  #wordsOf: WordsOf = wordsOfRecord;

  constructor(options: SqliteLogOptions) {
    super();
    const { connection, tablePrefix, searchRanksUpTo } = options;
    this.#options = options;
    const names = tableNames(tablePrefix);
    this.#connection = new Connection(connection, async (handle) => {
      const { prepareLog } = await import("./statements.ts");
      return prepareLog(handle, names);
    });
    this.capabilities = {
      durability: connection.durability,
      conditionalAppend: true,
      listThreads: true,
      // A file has no server that could remove anything while no program runs, so expiry cannot be promised. Run `vacuum({
      // olderThanDays })` from a timer instead.
      ttl: false,
      maxRecordBytes: 64 * 1024 * 1024,
      maxChainRecords: Number.POSITIVE_INFINITY,
      connects: connection.settings.access === "read",
      search: "deferred",
      ranksUpTo: searchRanksUpTo,
      metadataQuery: true,
    };
  }

  /** A writer creates the file when needed; a reader reports that it is missing. */
  override async connect(): Promise<void> {
    if (this.capabilities.connects) await this.#connection.read(() => undefined);
  }

  /**
   * A transaction, or a part of one. Nearly every append is one statement, because the thread is as this process left it.
   * The others read the thread's row first.
   */
  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    const last = request.more?.at(-1) ?? request.record;
    if (last.seq >= ROWS_PER_THREAD) throw tooManyRecords(threadId);
    const { outcome, erases, row } = await this.#connection.together(
      (statements) => appendInSteps(statements, threadId, request, this.#wordsOf),
      isOneRow(request) ? (statements) => appendBehind(statements, this.#rows.get(threadId), request) : undefined,
    );
    if (outcome.appended) {
      if (row === undefined || (row.metadata?.length ?? 0) > MOST_METADATA_KEPT) this.#rows.delete(threadId);
      else this.#rows.set(threadId, row);
    }
    if (erases) await this.#connection.erased();
    return outcome;
  }

  readTail(threadId: string, { newerThan }: { newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    return this.#connection.read((statements) => {
      const found = readThread(statements, threadId);
      if (found === undefined) return undefined;
      const { thread, tail } = found;
      const { generation } = thread;
      const isBelow = newerThan !== undefined && newerThan.generation === generation && newerThan.seq < tail.seq;
      const there = isBelow ? readAt(statements, thread.thread_no, newerThan.seq) : undefined;
      const first = firstUnknown({ generation, entry: tail }, newerThan, there);
      const records = first > tail.seq ? [] : readRecords(statements, thread.thread_no, first, tail.seq);
      return { generation: thread.generation, tail, records };
    });
  }

  readRecords(threadId: string, options: { before?: number; limit: number }): Promise<LogChain | undefined> {
    const last = positionBelow(options.before);
    return this.#connection.read((statements) => {
      const found = readThread(statements, threadId);
      if (found === undefined) return undefined;
      const records = last < 1 ? [] : readBackwards(statements, found.thread.thread_no, last, options.limit);
      return { generation: found.thread.generation, tail: found.tail, records };
    });
  }

  async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    const found = await this.#connection.read((statements) => {
      const thread = readThread(statements, threadId);
      const entry = thread && readNamed(statements, thread.thread.thread_no, name);
      if (thread === undefined || entry === undefined) return thread && UNNAMED;
      const records = readRecords(statements, thread.thread.thread_no, entry.base, entry.seq);
      return { generation: thread.thread.generation, tail: thread.tail, records };
    });
    if (found !== UNNAMED) return found;
    await this.#assertUnnamed(threadId, name);
    return undefined;
  }

  /**
   * For a checkpoint that the index does not have: fails if the index is damaged and one
   * of the records has that name. Such a load is rare, so it may read what a listing reads.
   */
  async #assertUnnamed(threadId: string, name: string): Promise<void> {
    let before: number | undefined;
    do {
      const entries = await this.list(threadId, { limit: ENTRIES_PER_STEP, ...(before !== undefined && { before }) });
      const seq = entries.find((entry) => hasName(entry, name))?.seq;
      if (seq !== undefined) await this.#assertIndexed(threadId, name, seq);
      before = entries.length < ENTRIES_PER_STEP ? undefined : entries.at(-1)?.seq;
    } while (before !== undefined);
  }

  /** It may have been saved, or its thread made anew, since it was looked for. */
  #assertIndexed(threadId: string, name: string, seq: number): Promise<void> {
    return this.#connection.read((statements) => {
      const thread = findThread(statements, threadId);
      const row = thread && (statements.at.get(rowId(thread.thread_no, seq)) as EntryRow | undefined);
      if (thread === undefined || row === undefined || !hasName(toEntry(row), name)) return;
      if (readNamed(statements, thread.thread_no, name) === undefined) {
        throw damagedIndex(name, `does not lead to record ${seq}`);
      }
    });
  }

  entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return this.#connection.read((statements) => {
      const found = readThread(statements, threadId);
      return found && readNamed(statements, found.thread.thread_no, name);
    });
  }

  tail(threadId: string): Promise<{ generation: string; entry: LogEntry } | undefined> {
    return this.#connection.read((statements) => {
      const found = readThread(statements, threadId);
      return found && { generation: found.thread.generation, entry: found.tail };
    });
  }

  list(threadId: string, options: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    const last = positionBelow(options.before);
    return this.#connection.read((statements) => {
      const found = readThread(statements, threadId);
      if (found === undefined || last < 1) return [];
      const range = rangeOf(found.thread.thread_no, last);
      return (statements.list.all(...range, options.limit) as EntryRow[]).map(toEntry);
    });
  }

  /** A damaged thread can be deleted, but not on a condition that cannot be verified. */
  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    await this.#forgetMostWords(threadId, ifTail);
    const outcome = await this.#connection.write((statements) => {
      const found = ifTail === undefined ? statements.thread.get(threadId) : findThread(statements, threadId);
      const thread = found as ThreadRow | undefined;
      if (thread === undefined) {
        assertAbsent(statements, threadId);
        return "absent";
      }
      if (ifTail !== undefined && !isSamePlace(placeInRow(thread), ifTail)) return "moved";
      dropThread(statements, thread, this.#wordsOf);
      return "removed";
    });
    if (outcome === "removed") await this.#connection.erased();
    return outcome;
  }

  /**
   * The slowest part of a removal, done beforehand in short steps. Bounded by the
   * number of records at the start, because another process may index meanwhile.
   */
  async #forgetMostWords(threadId: string, ifTail?: KnownPlace): Promise<void> {
    for (let steps = 0, most = 1; steps < most; steps++) {
      const more = await this.#connection.write((statements) => {
        const thread = statements.thread.get(threadId) as ThreadRow | undefined;
        if (thread === undefined || !isProvenThread(thread)) return false;
        if (ifTail !== undefined && !isSamePlace(placeInRow(thread), ifTail)) return false;
        if (steps === 0) most = thread.tail;
        return unindexSome(statements, thread, this.#wordsOf);
      });
      if (!more) return;
    }
  }

  copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return this.#connection.write((statements) => {
      const found = readThread(statements, source);
      if (found === undefined) return "no source";
      const { thread_no: from, tail, tail_write_id, head } = found.thread;
      if (statements.thread.get(target) === undefined) assertAbsent(statements, target);
      const made = createThread(statements, target, { generation, tail, tail_write_id, head });
      if (made === undefined) return "target exists";
      statements.copy.run(startOf(from), startOf(made.thread_no), ...rangeOf(from));
      statements.copyNames.run(startOf(from), startOf(made.thread_no), ...rangeOf(from));
      moveMembers(statements, target, null, headMetadata(statements, made) ?? null);
      return "copied";
    });
  }

  override async listThreads(options: {
    prefix: string;
    cursor?: string;
    limit: number;
  }): Promise<LogPage<ListedThread>> {
    const { prefix, cursor = "", limit } = options;
    const end = successorOf(prefix) ?? null;
    return this.#walk(cursor, limit, listed, ({ threads }, after, step) => {
      const rows = threads.all(prefix, after, after, end, step) as ThreadHeadRow[];
      return { rows, next: rows.length < step ? undefined : rows.at(-1)?.t_thread_id };
    });
  }

  override async readThreads(options: ReadThreadsOptions): Promise<LogPage<ListedThread & WithRecords>> {
    const { prefix, cursor = "", limit, skips } = options;
    const end = successorOf(prefix) ?? null;
    const items: (ListedThread & WithRecords)[] = [];
    let after: string | undefined = cursor;
    while (after !== undefined && items.length < limit) {
      const from: string = after;
      after = await this.#connection.read((statements) => {
        const rows = statements.threadRows.all(prefix, from, from, end, THREADS_PER_STEP) as ThreadRow[];
        for (const row of rows) {
          const item = readShortThread(statements, row, skips);
          if (item !== undefined && items.push(item) === limit) return row.thread_id;
        }
        return rows.length < THREADS_PER_STEP ? undefined : rows.at(-1)?.thread_id;
      });
    }
    return { items, cursor: after };
  }

  /**
   * The index narrows down to threads that have the member. The exact comparison is
   * made here on the JSON text, where no value is coerced.
   */
  override async queryMetadata(
    key: string,
    valueJson: string,
    { cursor = "", limit, prefix = "" }: { cursor?: string; limit: number; prefix?: string },
  ): Promise<LogPage<ListedThread>> {
    const member = memberOf(key, valueJson);
    const end = successorOf(prefix) ?? null;
    const matching = (row: ThreadHeadRow): ListedThread | undefined => listedWithMember(row, key, valueJson);
    return this.#walk(cursor, limit, matching, ({ withMember }, after, wanted) => {
      const step = Math.max(wanted, LEAST_MEMBERS_PER_STEP);
      const range = [prefix, after, after, end] as const;
      const rows = withMember.all(member, ...range, UNINDEXED, ...range, step) as FoundMember[];
      return { rows, next: rows.length < step ? undefined : rows.at(-1)?.place };
    });
  }

  /** Walks threads in order of their ids until a page is full, in short steps that do not block others. */
  async #walk(
    cursor: string,
    limit: number,
    toItem: (row: ThreadHeadRow) => ListedThread | undefined,
    read: (
      statements: Statements,
      after: string,
      step: number,
    ) => { readonly rows: readonly ThreadHeadRow[]; readonly next: string | undefined },
  ): Promise<LogPage<ListedThread>> {
    const items: ListedThread[] = [];
    let after: string | undefined = cursor;
    while (after !== undefined && items.length <= limit) {
      const step = Math.min(limit + 1 - items.length, THREADS_PER_STEP);
      const from: string = after;
      const { rows, next } = await this.#connection.read((statements) => read(statements, from, step));
      items.push(...rows.map(toItem).filter((item) => item !== undefined));
      after = next;
    }
    return pageOf(items, limit);
  }

  override async search(words: readonly string[], range: SearchRange): Promise<FoundRecords> {
    const { searchRanksUpTo } = this.#options;
    const { searchWords } = await import("./search-words.ts");
    return this.#connection.read((statements) => searchWords(statements, words, range, searchRanksUpTo));
  }

  override async catchUp(wordsOf: WordsOf, signal?: AbortSignal): Promise<void> {
    this.#wordsOf = wordsOf;
    const { catchUp } = await import("./catch-up.ts");
    await catchUp(this.#connection, wordsOf, signal);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

const tooManyRecords = (threadId: string): StateError =>
  new StateError("TOO_LARGE", `a thread takes at most ${ROWS_PER_THREAD - 1} records`, { threadId });

type ReadThreadsOptions = Parameters<ThreadLog["readThreads"]>[0];
