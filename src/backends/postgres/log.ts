import { randomBytes } from "node:crypto";
import { assertAppend, MOST_BYTES_READ } from "../../checkpoint/log/driver-rules.ts";
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
  type LogRecord,
  type SearchRange,
  type ThreadLog,
  type ThreadTail,
} from "../../checkpoint/log/thread-log.ts";
import type { Lease } from "../../driver/connection.ts";
import { type ScrubReport, unsupported } from "../../driver/driver.ts";
import { Groups } from "../../driver/groups.ts";
import type { VersionWatch } from "../../driver/version-watch.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { appendWays, editWays } from "./append-groups.ts";
import type { Asking, TextRow } from "./ask.ts";
import { callGroups, type Removed } from "./call-groups.ts";
import {
  type Appending,
  appendValues,
  editingValues,
  editManyValues,
  groupValues,
  isOneRecord,
  wordsWrittenBy,
} from "./calls.ts";
import { catchUp } from "./catch-up.ts";
import { classify } from "./classify.ts";
import type { PostgresqlConnection } from "./connect.ts";
import { isDeclined } from "./declined.ts";
import { listThreads, queryMetadata, search } from "./finding.ts";
import type { PostgresHandle } from "./handle.ts";
import { type TableNames, tableNames } from "./layout.ts";
import { ChangeListener, REGISTRATION_MS } from "./listener.ts";
import { openListener } from "./open-client.ts";
import { checkpoints } from "./parts.ts";
import { ABSENT, chainOf, MAX_SEQ, positionIn, refusalOf, toEntry } from "./rows.ts";
import { DEAD_ROWS } from "./scrubbing.ts";
import { PER_EDITS, sortNowAndThen } from "./sorting-words.ts";
import { ASKING, type RunStatement, type Statements, statements } from "./statements.ts";

export interface PostgresLogOptions {
  readonly connection: PostgresqlConnection;
  readonly schema: string;
  readonly tablePrefix: string;
  /** How many hits a search ranks at most. */
  readonly searchRanksUpTo: number;
}

const SAVES_PER_SWEEP = 100;
/** How often an append is retried on a thread that appears and disappears. Each time, another writer got through. */
const ROUNDS = 20;

const CAPABILITIES: LogCapabilities = {
  // Whatever its settings, the server outlives this process. The first contact may tell more.
  durability: "os",
  conditionalAppend: true,
  listThreads: true,
  ttl: true,
  maxRecordBytes: 64 * 1024 * 1024,
  maxChainRecords: Number.POSITIVE_INFINITY,
  callsTogether: 128,
  connects: true,
  search: "deferred",
  metadataQuery: true,
  clock: true,
};

/**
 * Threads in PostgreSQL. Every method is one statement, so each is atomic by itself
 * and needs no session. It works behind any pooler.
 */
export class PostgresLog extends BaseThreadLog implements ThreadLog {
  readonly name: string = "postgres";
  readonly secrets: readonly string[];
  readonly #names: TableNames;
  readonly #sql: Statements;
  readonly #listener: ChangeListener;
  readonly #handle: Lease<PostgresHandle>;
  readonly #appends = new Groups(
    appendWays({ one: (one) => this.#append(one), many: (group) => this.#appendTogether("appendMany", group) }),
  );
  readonly #edits = new Groups(
    editWays({ one: (one) => this.#append(one), many: (group) => this.#appendTogether("editMany", group) }),
  );
  readonly #groups = callGroups((statement, ...values) => this.#ask(statement, ...values));
  readonly #ranksUpTo: number;
  #capabilities: LogCapabilities;
  #version: VersionWatch | undefined;
  #closing: Promise<void> | undefined;
  #savesWithAnEnd = 0;
  #sweeping: Promise<unknown> = Promise.resolve();

  constructor({ connection, schema, tablePrefix, searchRanksUpTo }: PostgresLogOptions) {
    super();
    this.#ranksUpTo = searchRanksUpTo;
    // A watcher registers in a table, so that saves notify; one that may not write polls.
    const subscribe = connection.settings.access === "write";
    this.#capabilities = { ...CAPABILITIES, ranksUpTo: searchRanksUpTo, subscribe };
    this.#handle = connection.lease((handle) => this.#prepare(handle));
    this.#names = tableNames(schema, tablePrefix);
    this.#sql = statements(this.#names);
    this.secrets = connection.secrets;
    const watcher = randomBytes(12).toString("hex");
    this.#listener = new ChangeListener({
      channel: this.#names.channel,
      open: () => openListener(connection.settings),
      register: (threadIds) => this.#ask("watch", threadIds, watcher, REGISTRATION_MS),
      unregister: (threadIds) => this.#unregister(threadIds, watcher),
    });
  }

  get capabilities(): LogCapabilities {
    return this.#capabilities;
  }

  override async connect(): Promise<void> {
    await this.#open();
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    for (let round = 1; ; round++) {
      const isHeld = request.record.seq + (request.more?.length ?? 0) <= MAX_SEQ;
      const groups = isOneRecord(request) ? this.#appends : this.#edits;
      if (isHeld && (await groups.call({ threadId, request }))) return this.#appended(request);
      const outcome = await this.#refusal(threadId, request);
      if (outcome !== "free" || round === ROUNDS) return outcome === "free" ? ABSENT : outcome;
    }
  }

  async #append(appending: Appending): Promise<boolean> {
    const isOne = isOneRecord(appending.request);
    const by = isOne ? "append" : "appendWithEdits";
    const values = isOne ? appendValues(appending) : editingValues(appending);
    const [row] = await this.#askText(this.#sql[by], values, ASKING[by]);
    return row?.["appended"] === "t";
  }

  /** Whoever is not among the places that come back goes alone. */
  async #appendTogether(by: "appendMany" | "editMany", group: readonly Appending[]): Promise<(true | undefined)[]> {
    const values = by === "appendMany" ? groupValues(group) : editManyValues(group);
    const places = await this.#ask(by, ...values);
    if (by === "editMany") await sortNowAndThen(this.#run, wordsWrittenBy(group), PER_EDITS);
    const appended = new Set(places.map(({ place }) => Number(place) - 1));
    return group.map((_, place) => appended.has(place) || undefined);
  }

  #appended({ ttlMs }: AppendRequest): AppendOutcome {
    if (ttlMs !== undefined && this.#savesWithAnEnd++ % SAVES_PER_SWEEP === 0) {
      // Not awaited, and a failure is ignored: expired threads are invisible already.
      this.#sweeping = this.#sweeping.then(() => this.#ask("sweep")).catch(() => undefined);
    }
    return { appended: true };
  }

  /** What is there instead; "free" if it has gone meanwhile, so that the append can be retried. */
  async #refusal(threadId: string, { expected }: AppendRequest): Promise<AppendOutcome | "free"> {
    const rows = await this.#ask("refusal", threadId, Math.min(expected.seq + 1, MAX_SEQ));
    const [thread] = rows;
    if (thread === undefined) return expected.seq === 0 ? "free" : ABSENT;
    if (thread["expired"] === "t") {
      if (expected.seq > 0) return ABSENT;
      await this.#ask("removeExpired", threadId);
      return "free";
    }
    return refusalOf(thread, rows.map(toEntry), expected);
  }

  async readTail(threadId: string, { newerThan }: { newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    if (newerThan === undefined) {
      const rows = await this.#ask("readTail", threadId);
      return chainOf(rows.at(-1), rows);
    }
    const { generation, seq, writeId } = newerThan;
    const rows = await this.#ask("readNewer", threadId, generation, positionIn(seq), writeId);
    return chainOf(
      rows.at(-1),
      rows.filter((row) => row["body"] !== null),
    );
  }

  async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    const found = await this.#groups.checkpoints.call({ threadId, name });
    return found === "absent" ? undefined : found;
  }

  async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    const [row] = await this.#ask("entry", threadId, name);
    return row && toEntry(row);
  }

  async readRecords(threadId: string, options: { before?: number; limit: number }): Promise<LogChain | undefined> {
    const rows = await this.#ask("readRecords", threadId, positionIn(options.before), options.limit, MOST_BYTES_READ);
    return chainOf(rows.at(-1), rows.slice(0, -1));
  }

  async tail(threadId: string): Promise<ThreadTail | undefined> {
    const found = await this.#groups.tails.call(threadId);
    return found === "absent" ? undefined : found;
  }

  list(threadId: string, { before, limit }: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    return this.#groups.lists.call({ threadId, before: positionIn(before), limit });
  }

  remove(threadId: string, ifTail?: KnownPlace): Promise<Removed> {
    if (ifTail === undefined) return this.#groups.removals.call({ threadId });
    // No thread has a tail of 0, nor one that does not fit into the column.
    const seq = ifTail.seq >= 1 && ifTail.seq <= MAX_SEQ ? ifTail.seq : 0;
    return this.#groups.removals.call({ threadId, ifTail: { ...ifTail, seq } });
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    for (let round = 1; ; round++) {
      const [row] = await this.#ask("copy", source, target, generation);
      if (row?.["found"] !== "1") return "no source";
      if (row["made"] === "1") return "copied";
      const [expired] = await this.#ask("isExpired", target);
      if (expired === undefined || round === ROUNDS) return "target exists";
      await this.#ask("removeExpired", target);
    }
  }

  override listThreads(options: { prefix: string; cursor?: string; limit: number }): Promise<LogPage<ListedThread>> {
    return listThreads(this.#run, options);
  }

  override queryMetadata(
    key: string,
    valueJson: string,
    options: { cursor?: string; limit: number; prefix?: string },
  ): Promise<LogPage<ListedThread>> {
    return queryMetadata(this.#run, key, valueJson, options);
  }

  override search(words: readonly string[], options: SearchRange): Promise<FoundRecords> {
    return search(this.#run, words, options, this.#ranksUpTo);
  }

  override async catchUp(wordsOf: (record: LogRecord) => string | undefined, signal?: AbortSignal): Promise<void> {
    await catchUp((statement, ...values) => this.#askText(this.#sql[statement], values, { signal }), wordsOf);
  }

  override subscribe(threadId: string, onChange: () => void): () => void {
    if (!this.#capabilities.subscribe) throw unsupported("subscribe");
    this.#assertOpen();
    return this.#listener.subscribe(threadId, onChange);
  }

  override async now(): Promise<number> {
    const [row] = await this.#askText("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now", []);
    return Math.floor(Number(row?.["now"]));
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  override declined(error: unknown): boolean {
    return isDeclined(error);
  }

  override async scrub(): Promise<ScrubReport> {
    return { done: [], remains: DEAD_ROWS };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#listener.close();
    await this.#sweeping;
    await this.#handle.release();
  }

  async #unregister(threadIds: readonly string[], watcher: string): Promise<unknown> {
    return (await this.#handle.opened())?.ask(this.#sql.unwatch, [threadIds, watcher]);
  }

  /** For functions that only need to run statements. */
  readonly #run: RunStatement = (statement, ...values) => this.#ask(statement, ...values);

  #ask(statement: keyof Statements, ...values: readonly unknown[]): Promise<readonly TextRow[]> {
    return this.#askText(this.#sql[statement], values, ASKING[statement]);
  }

  async #askText(text: string, values: readonly unknown[], asking?: Asking): Promise<readonly TextRow[]> {
    const handle = await this.#open();
    const looking = this.#version?.assertCurrent();
    if (looking !== undefined) await looking;
    return handle.ask(text, values, asking);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StateError("CLOSED", "the connections were closed");
  }

  #open(): Promise<PostgresHandle> {
    this.#assertOpen();
    return this.#handle.get();
  }

  async #prepare(handle: PostgresHandle): Promise<PostgresHandle> {
    this.#version = await handle.prepare(this.#names, checkpoints(this.#names));
    this.#capabilities = { ...this.#capabilities, durability: handle.durability };
    return handle;
  }
}
