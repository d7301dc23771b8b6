import { assertAppend, MOST_BYTES_READ, replacedNothing } from "../../checkpoint/log/driver-rules.ts";
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
  type ThreadLog,
  type ThreadTail,
} from "../../checkpoint/log/thread-log.ts";
import type { Lease } from "../../driver/connection.ts";
import { type ScrubReport, unsupported } from "../../driver/driver.ts";
import type { VersionWatch } from "../../driver/version-watch.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { NOTHING_TO_REPLACE } from "./append-block.ts";
import { appendSteps } from "./appending.ts";
import type { Answer } from "./ask.ts";
import { type Binds, number, OUT_NUMBER, text } from "./binds.ts";
import { classify, isOra } from "./classify.ts";
import type { OracleConnection } from "./connect.ts";
import { isDeclined } from "./declined.ts";
import { listThreads, queryMetadata, type ReadEntries } from "./finding.ts";
import type { OracleHandle } from "./handle.ts";
import { LONG_TEXT, type TableNames } from "./layout.ts";
import { LongThreads } from "./long-threads.ts";
import { logDeployment } from "./parts.ts";
import { type Row, text as textIn, toEntry, toRecord } from "./rows.ts";
import { remainsWith } from "./scrubbing.ts";
import { type Reading, type Statements, statements } from "./statements.ts";
import { createTextIndex, hasTextIndex } from "./text-index.ts";
import { type SearchAccess, searchThroughIndex, type TextSearch } from "./text-search.ts";

export interface OracleLogOptions {
  readonly connection: OracleConnection;
  readonly names: TableNames;
  /** Whether to create the text index if there is none. */
  readonly textIndex: boolean;
}

const SAVES_PER_SWEEP = 100;
/** How often an append is retried on a thread that appears and disappears. Each time, another writer got through. */
const ROUNDS = 20;

const CAPABILITIES: LogCapabilities = {
  // A commit waits for the redo log. A standby cannot be seen from a session.
  durability: "fsync",
  conditionalAppend: true,
  listThreads: true,
  ttl: true,
  maxRecordBytes: 64 * 1024 * 1024,
  maxChainRecords: Number.POSITIVE_INFINITY,
  connects: true,
  metadataQuery: true,
  clock: true,
};

/** Threads in Oracle Database. Each method is one block or one query, so it is atomic by itself. */
export class OracleLog extends BaseThreadLog implements ThreadLog {
  readonly name: string = "oracle";
  capabilities: LogCapabilities = CAPABILITIES;
  readonly #connection: OracleConnection;
  readonly #names: TableNames;
  readonly #sql: Statements;
  readonly #handle: Lease<OracleHandle>;
  readonly #longThreads = new LongThreads();
  /** After contact with a schema that has a text index. */
  #text: TextSearch | undefined;
  #version: VersionWatch | undefined;
  #closing: Promise<void> | undefined;
  #savesWithAnEnd = 0;
  #sweeping: Promise<unknown> = Promise.resolve();

  constructor({ connection, names, textIndex }: OracleLogOptions) {
    super();
    this.#connection = connection;
    this.#names = names;
    this.#sql = statements(this.#names);
    this.#handle = connection.lease(async (handle) => {
      this.#version = await handle.prepare(logDeployment(names));
      if (textIndex && connection.access !== "read") await createTextIndex(handle, names);
      if (await hasTextIndex(handle, names)) this.#searchByText();
      return handle;
    });
  }

  get secrets(): readonly string[] {
    return this.#connection.secrets;
  }

  override async connect(): Promise<void> {
    await this.#open();
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    for (let round = 1; ; round++) {
      if (await this.#append(threadId, request)) return this.#appended(request);
      const outcome = await this.#refusal(threadId, request);
      if (outcome !== "free" || round === ROUNDS) return outcome === "free" ? ABSENT : outcome;
    }
  }

  /** One call for nearly every append; if it takes several, they are one transaction. */
  async #append(threadId: string, request: AppendRequest): Promise<boolean> {
    const steps = appendSteps(this.#names, threadId, request);
    const handle = await this.#open();
    try {
      return await handle.onSession(async (asking) => {
        for (const [index, { block, binds }] of steps.entries()) {
          const { out } = await asking.ask(block, binds, index === steps.length - 1);
          if (index === 0 && out["b_appended"] !== 1) return false;
        }
        return true;
      });
    } catch (error) {
      if (isOra(error, NOTHING_TO_REPLACE)) throw replacedNothing();
      throw error;
    }
  }

  #appended({ ttlMs }: AppendRequest): AppendOutcome {
    if (ttlMs !== undefined && this.#savesWithAnEnd++ % SAVES_PER_SWEEP === 0) {
      // Not awaited, and a failure is ignored: expired threads are invisible already.
      this.#sweeping = this.#sweeping.then(() => this.#ask(this.#sql.sweep, {}, true)).catch(() => undefined);
    }
    return { appended: true };
  }

  /** What is there instead; "free" if it has gone meanwhile, so that the append can be retried. */
  async #refusal(threadId: string, { expected }: AppendRequest): Promise<AppendOutcome | "free"> {
    const rows = await this.#read(this.#sql.refusal, { b_thread: text(threadId), b_seq: number(expected.seq + 1) });
    const [thread] = rows;
    if (thread === undefined) return expected.seq === 0 ? "free" : ABSENT;
    if (thread["EXPIRED"] === 1) {
      if (expected.seq > 0) return ABSENT;
      await this.#ask(this.#sql.removeExpired, { b_thread: text(threadId) }, true);
      return "free";
    }
    const entries = rows.map(toEntry);
    const occupant = entries.find(({ seq }) => seq === expected.seq + 1);
    return {
      appended: false,
      tail: entries.find(({ seq }) => seq === thread["TAIL"]),
      generation: textIn(thread, "GENERATION"),
      occupant: textIn(thread, "GENERATION") === expected.generation ? occupant : undefined,
    };
  }

  readTail(threadId: string, { newerThan }: { newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    if (newerThan === undefined) return this.#readChain(threadId, this.#sql.readTail, {}, (rows) => rows.at(-1));
    const known = placeBinds(newerThan);
    return this.#readChain(threadId, this.#sql.readNewer, known, (rows) => rows.at(-1));
  }

  readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return this.#readChain(threadId, this.#sql.readCheckpoint, { b_name: text(name) }, ([first]) => first);
  }

  readRecords(threadId: string, options: { before?: number; limit: number }): Promise<LogChain | undefined> {
    const range = {
      b_before: number(positionIn(options.before)),
      b_most: number(options.limit),
      b_bytes: number(MOST_BYTES_READ),
    };
    return this.#readChain(threadId, this.#sql.readRecords, range, ([first]) => first);
  }

  async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    const [row] = await this.#read(this.#sql.entry, { b_thread: text(threadId), b_name: text(name) });
    return row && toEntry(row);
  }

  async tail(threadId: string): Promise<ThreadTail | undefined> {
    const [row] = await this.#read(this.#sql.tail, { b_thread: text(threadId) });
    if (row === undefined) return undefined;
    const ttlMs = row["TTL_MS"];
    const left = typeof ttlMs === "number" ? { ttlMs: Math.max(ttlMs, 0) } : {};
    return { generation: textIn(row, "GENERATION") ?? "", entry: toEntry(row), ...left };
  }

  async list(threadId: string, options: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    const range = { b_before: number(positionIn(options.before)), b_most: number(options.limit) };
    return (await this.#read(this.#sql.list, { b_thread: text(threadId), ...range })).map(toEntry);
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    const binds = { b_thread: text(threadId), ...placeBinds(ifTail), b_found: OUT_NUMBER, b_gone: OUT_NUMBER };
    const { out } = await this.#ask(this.#sql.remove, binds, true);
    if (out["b_found"] !== 1) return "absent";
    if (out["b_gone"] === 1) return "removed";
    return ifTail === undefined ? "absent" : "moved";
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    const binds = { b_source: text(source), b_target: text(target), b_generation: text(generation) };
    for (let round = 1; ; round++) {
      const { out } = await this.#ask(this.#sql.copy, { ...binds, b_outcome: OUT_NUMBER }, true);
      if (out["b_outcome"] === 0) return "no source";
      if (out["b_outcome"] === 2) return "copied";
      const { rows } = await this.#ask(this.#sql.isExpired, { b_thread: text(target) });
      if (rows.length === 0 || round === ROUNDS) return "target exists";
      await this.#ask(this.#sql.removeExpired, { b_thread: text(target) }, true);
    }
  }

  override listThreads(options: { prefix: string; cursor?: string; limit: number }): Promise<LogPage<ListedThread>> {
    return listThreads(this.#readEntries, this.#sql, options);
  }

  override queryMetadata(
    key: string,
    valueJson: string,
    options: { cursor?: string; limit: number; prefix?: string },
  ): Promise<LogPage<ListedThread>> {
    return queryMetadata(this.#readEntries, this.#sql, key, valueJson, options);
  }

  override async search(...given: Parameters<ThreadLog["search"]>): Promise<FoundRecords> {
    if (this.#text === undefined) throw unsupported("search");
    return this.#text.search(...given);
  }

  override async catchUp(...given: Parameters<ThreadLog["catchUp"]>): Promise<void> {
    await this.#text?.catchUp(...given);
  }

  override async now(): Promise<number> {
    const { rows } = await this.#ask(this.#sql.now);
    return Date.parse(textIn(rows[0] ?? {}, "CLOCK") ?? "");
  }

  override async scrub(): Promise<ScrubReport> {
    await this.#open();
    return { done: [], remains: remainsWith(this.#text !== undefined) };
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  override declined(error: unknown): boolean {
    return isDeclined(error);
  }

  close(): Promise<void> {
    this.#closing ??= this.#sweeping.then(() => this.#handle.release());
    return this.#closing;
  }

  /** `tailOf` finds the row of the tail, which may come without its body. */
  async #readChain(
    threadId: string,
    reading: Reading,
    binds: Binds,
    tailOf: (rows: readonly Row[]) => Row | undefined,
  ): Promise<LogChain | undefined> {
    const all = { b_thread: text(threadId), ...binds };
    const wasLong = this.#longThreads.has(threadId);
    let { rows } = await this.#ask(wasLong ? reading.long : reading.short, all);
    const isLong = rows.some((row) => Number(row["LENGTHY"]) > 0);
    // Everything is read again, not only what is missing: the thread may have changed since.
    if (isLong && !wasLong) ({ rows } = await this.#ask(reading.long, all));
    this.#longThreads.note(threadId, isLong);
    const tail = tailOf(rows);
    if (tail === undefined) return undefined;
    const records = rows.filter((row) => row["WANTED"] === 1).map(toRecord);
    return { generation: textIn(tail, "GENERATION") ?? "", tail: toEntry(tail), records };
  }

  /** Entries, whose text is nearly always short. */
  async #read(reading: Reading, binds: Binds): Promise<readonly Row[]> {
    const { rows } = await this.#ask(reading.short, binds);
    const isShort = rows.every((row) => (Number(row["LENGTHY"]) & LONG_TEXT) === 0);
    return isShort ? rows : (await this.#ask(reading.long, binds)).rows;
  }

  readonly #readBodies: ReadEntries = async (reading, binds) => {
    const { rows } = await this.#ask(reading.short, binds);
    return rows.some((row) => Number(row["LENGTHY"]) > 0) ? (await this.#ask(reading.long, binds)).rows : rows;
  };

  readonly #readEntries: ReadEntries = (reading, binds) => this.#read(reading, binds);

  #searchByText(): void {
    const ask: SearchAccess["ask"] = (...given) => this.#ask(...given);
    const access = { ask, readEntries: this.#readEntries, readBodies: this.#readBodies };
    this.#text = searchThroughIndex(this.#names, access);
    this.capabilities = { ...CAPABILITIES, search: "deferred" };
  }

  async #ask(statement: string, binds?: Binds, commit?: boolean): Promise<Answer> {
    const handle = await this.#open();
    const looking = this.#version?.assertCurrent();
    if (looking !== undefined) await looking;
    return handle.ask(statement, binds, commit);
  }

  #open(): Promise<OracleHandle> {
    if (this.#closing !== undefined) throw new StateError("CLOSED", "the connections were closed");
    return this.#handle.get();
  }
}

/** Clamped to what the column holds, so that any number from outside is compared rather than refused by the server. */
const positionIn = (before: number = Number.MAX_SAFE_INTEGER): number =>
  Math.min(Math.max(before || 0, 0), Number.MAX_SAFE_INTEGER);

/** No thread has a tail of 0. */
const placeBinds = (place: KnownPlace | undefined): Binds => ({
  b_generation: text(place?.generation),
  b_seq: number(place && positionIn(place.seq)),
  b_write_id: text(place?.writeId),
});

const ABSENT: AppendOutcome = { appended: false, tail: undefined, generation: undefined, occupant: undefined };
