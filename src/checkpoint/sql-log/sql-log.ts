import type { Lease } from "../../driver/connection.ts";
import { type ScrubReport, unsupported } from "../../driver/driver.ts";
import type { VersionWatch } from "../../driver/version-watch.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { assertAppend, MOST_BYTES_READ } from "../log/driver-rules.ts";
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
  type ThreadTail,
} from "../log/thread-log.ts";
import { catchUp, type Indexing, type WordsOf } from "./catch-up.ts";
import type { Row, Values } from "./dialect.ts";
import { listThreads, type PageOptions, queryMetadata } from "./finding.ts";
import type { ReadName } from "./reads.ts";
import { ABSENT, chainOf, isTrue, MAX_SEQ, numberIn, positionIn, refusalOf, tailOf, toEntry } from "./rows.ts";

export type Removed = "removed" | "absent" | "moved";

/** A database that has answered and whose tables are there. Every change is atomic by itself. */
export interface SqlStorage extends Pick<Indexing, "isLocked" | "recordsPerBatch"> {
  /** What contact told beyond what was certain before. */
  readonly learnt: Partial<LogCapabilities>;
  /** Whether another process has migrated the tables meanwhile is looked at before a call. */
  readonly version: VersionWatch;
  read(name: ReadName, values: Values): Promise<readonly Row[]>;
  /** A page of threads whose newest checkpoint may have the member. */
  withMember(range: Values, key: string, valueJson: string): Promise<readonly Row[]>;
  /** Whether it was made. Refuses where the tail is another one. */
  append(threadId: string, request: AppendRequest): Promise<boolean>;
  /** `undefined` where it cannot tell why nothing was removed. */
  remove(threadId: string, ifTail: KnownPlace | undefined): Promise<Removed | undefined>;
  copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "taken">;
  removeExpired(threadId: string): Promise<unknown>;
  /** Removes some of the threads that have expired, of any prefix, and waits for no lock. */
  sweep(): Promise<unknown>;
  search(words: readonly string[], range: SearchRange): Promise<FoundRecords>;
  index(batch: Parameters<Indexing["index"]>[0]): Promise<boolean>;
}

export interface SqlLogOptions {
  readonly name: string;
  readonly secrets: () => readonly string[];
  /** The least that is certain before contact. */
  readonly capabilities: LogCapabilities;
  readonly storage: Lease<SqlStorage>;
  readonly classify: (error: unknown) => ErrorCode | undefined;
  readonly declined: (error: unknown) => boolean;
  /** What remains of deleted data in the database's own files. */
  readonly remains: (learnt: Partial<LogCapabilities>) => readonly string[];
}

const SAVES_PER_SWEEP = 100;
/** How often an append is retried on a thread that appears and disappears. Each time, another writer got through. */
const ROUNDS = 20;

/** Threads in a database that speaks SQL. Each read is one statement. */
export class SqlLog extends BaseThreadLog implements ThreadLog {
  readonly name: string;
  readonly #options: SqlLogOptions;
  #learnt: Partial<LogCapabilities> = {};
  #closing: Promise<void> | undefined;
  #savesWithAnEnd = 0;
  #sweeping: Promise<unknown> = Promise.resolve();

  constructor(options: SqlLogOptions) {
    super();
    this.name = options.name;
    this.#options = options;
  }

  get capabilities(): LogCapabilities {
    return { ...this.#options.capabilities, ...this.#learnt };
  }

  get secrets(): readonly string[] {
    return this.#options.secrets();
  }

  override async connect(): Promise<void> {
    await this.open();
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    const isHeld = request.record.seq + (request.more?.length ?? 0) <= MAX_SEQ;
    for (let round = 1; ; round++) {
      const storage = await this.current();
      if (isHeld && (await storage.append(threadId, request))) return this.#appended(storage, request);
      const outcome = await this.#refusal(storage, threadId, request);
      if (outcome !== "free" || round === ROUNDS) return outcome === "free" ? ABSENT : outcome;
    }
  }

  #appended(storage: SqlStorage, { ttlMs }: AppendRequest): AppendOutcome {
    if (ttlMs !== undefined && this.#savesWithAnEnd++ % SAVES_PER_SWEEP === 0) {
      // Not awaited, and a failure is ignored: expired threads are invisible already.
      this.#sweeping = this.#sweeping.then(() => storage.sweep()).catch(() => undefined);
    }
    return { appended: true };
  }

  /** What is there instead; "free" if it has gone meanwhile, so that the append can be retried. */
  async #refusal(storage: SqlStorage, threadId: string, { expected }: AppendRequest): Promise<AppendOutcome | "free"> {
    const rows = await storage.read("refusal", { thread: threadId, seq: Math.min(expected.seq + 1, MAX_SEQ) });
    if (rows.length === 0) return expected.seq === 0 ? "free" : ABSENT;
    if (!isTrue(rows[0], "expired")) return refusalOf(rows, expected);
    if (expected.seq > 0) return ABSENT;
    await storage.removeExpired(threadId);
    return "free";
  }

  async readTail(threadId: string, { newerThan }: { newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    if (newerThan === undefined) return chainOf(await this.#read("readTail", { thread: threadId }));
    const { generation, seq, writeId } = newerThan;
    const known = { generation, seq: positionIn(seq), write_id: writeId };
    return chainOf(await this.#read("readNewer", { thread: threadId, ...known }));
  }

  async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return chainOf(await this.#read("readCheckpoint", { thread: threadId, name }));
  }

  async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    const [row] = await this.#read("entry", { thread: threadId, name });
    return row && toEntry(row);
  }

  async readRecords(threadId: string, options: { before?: number; limit: number }): Promise<LogChain | undefined> {
    const range = { before: positionIn(options.before), most: options.limit, bytes: MOST_BYTES_READ };
    return chainOf(await this.#read("readRecords", { thread: threadId, ...range }));
  }

  async tail(threadId: string): Promise<ThreadTail | undefined> {
    const [row] = await this.#read("tail", { thread: threadId });
    return tailOf(row);
  }

  async list(threadId: string, { before, limit }: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    const range = { before: positionIn(before), most: limit };
    return (await this.#read("list", { thread: threadId, ...range })).map(toEntry);
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<Removed> {
    // No thread has a tail of 0, nor one that does not fit into the column.
    const place = ifTail && { ...ifTail, seq: ifTail.seq >= 1 && ifTail.seq <= MAX_SEQ ? ifTail.seq : 0 };
    const storage = await this.current();
    const removed = await storage.remove(threadId, place);
    if (removed !== undefined) return removed;
    if (ifTail !== undefined && (await storage.read("tail", { thread: threadId })).length > 0) return "moved";
    await storage.removeExpired(threadId);
    return "absent";
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    for (let round = 1; ; round++) {
      const storage = await this.current();
      const outcome = await storage.copy(source, target, generation);
      if (outcome !== "taken") return outcome;
      const expired = await storage.read("isExpired", { thread: target });
      if (expired.length === 0 || round === ROUNDS) return "target exists";
      await storage.removeExpired(target);
    }
  }

  override listThreads(options: PageOptions): Promise<LogPage<ListedThread>> {
    return listThreads((range) => this.#read(range["last"] === undefined ? "threads" : "threadsTo", range), options);
  }

  override queryMetadata(key: string, valueJson: string, options: PageOptions): Promise<LogPage<ListedThread>> {
    const read = async (range: Values): Promise<readonly Row[]> =>
      (await this.current()).withMember(range, key, valueJson);
    return queryMetadata(read, key, valueJson, options);
  }

  override async search(words: readonly string[], range: SearchRange): Promise<FoundRecords> {
    const storage = await this.current();
    if (this.capabilities.search === undefined) throw unsupported("search");
    return storage.search(words, range);
  }

  override async catchUp(wordsOf: WordsOf, signal?: AbortSignal): Promise<void> {
    const { isLocked, recordsPerBatch } = await this.current();
    if (this.capabilities.search === undefined) return;
    const indexing: Indexing = {
      read: (name, values) => this.#read(name, values),
      index: async (batch) => (await this.current()).index(batch),
      isLocked,
      recordsPerBatch,
    };
    await catchUp(indexing, wordsOf, signal);
  }

  override async now(): Promise<number> {
    return Math.floor(numberIn((await this.#read("now", {}))[0], "now"));
  }

  override async scrub(): Promise<ScrubReport> {
    await this.open();
    return { done: [], remains: this.#options.remains(this.#learnt) };
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#options.classify(error);
  }

  override declined(error: unknown): boolean {
    return this.#options.declined(error);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.closeFirst();
    await this.#sweeping;
    await this.#options.storage.release();
  }

  /** What a log has open beside its connection. */
  protected async closeFirst(): Promise<void> {}

  protected assertOpen(): void {
    if (this.#closing !== undefined) throw new StateError("CLOSED", "the connections were closed");
  }

  /** The storage, of which is known that its tables are this build's. */
  protected async current(): Promise<SqlStorage> {
    const storage = await this.open();
    const looking = storage.version.assertCurrent();
    if (looking !== undefined) await looking;
    return storage;
  }

  protected async open(): Promise<SqlStorage> {
    this.assertOpen();
    const storage = await this.#options.storage.get();
    this.#learnt = storage.learnt;
    return storage;
  }

  async #read(name: ReadName, values: Values): Promise<readonly Row[]> {
    return (await this.current()).read(name, values);
  }
}
