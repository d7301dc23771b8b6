import { newMessagesOf } from "../checkpoint/chain.ts";
import type { CheckpointContext } from "../checkpoint/context.ts";
import { wordsOf } from "../checkpoint/plan-record.ts";
import type {
  AppendOutcome,
  AppendRequest,
  LogCapabilities,
  LogChain,
  LogEntry,
  LogPage,
  LogRecord,
  SearchHit,
  ThreadEntry,
  ThreadTail,
} from "../checkpoint/thread-log.ts";
import { StateError } from "../errors.ts";
import type { RemoteCapabilities } from "../wire/messages.ts";
import type { ThreadPlace } from "../wire/names.ts";
import { AppendGate } from "./append-gate.ts";
import type { CursorSeal } from "./cursors.ts";
import { Refusal } from "./refusal.ts";

export interface PageQuery {
  readonly prefix: string;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** How many appends may pass before the words of their records are indexed in the background. */
const APPENDS_PER_INDEXING = 256;

/**
 * The log as one tenant sees it. Inside, a thread's id is `<tenant>/<id>`: a
 * tenant's name holds no slash, so the first slash ends it, and no id of one
 * tenant is, or begins like, an id of another. Without tenants ids are as they
 * are. Everything the service does with threads goes through here.
 */
export class TenantLog {
  readonly #context: CheckpointContext;
  readonly #prefix: string;
  readonly #seal: CursorSeal;
  readonly #maxBodyBytes: number;
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #gate = new AppendGate(this);
  #unindexed = 0;

  constructor(context: CheckpointContext, tenant: string | undefined, seal: CursorSeal, maxBodyBytes: number) {
    this.#context = context;
    this.#prefix = tenant === undefined ? "" : `${tenant}/`;
    this.#seal = seal;
    this.#maxBodyBytes = maxBodyBytes;
  }

  async capabilities(): Promise<RemoteCapabilities> {
    await this.#context.connect({ operation: "capabilities" });
    const { log } = this.#context;
    const search = log.search === undefined ? "none" : log.catchUp === undefined ? "with words" : "deferred";
    return { log: this.#limited(log.capabilities), search, metadataQuery: log.queryMetadata !== undefined };
  }

  /** Half a body, because an append may bring a second record, or the words of the first. */
  #limited(capabilities: LogCapabilities): LogCapabilities {
    const maxRecordBytes = Math.min(capabilities.maxRecordBytes, Math.floor(this.#maxBodyBytes / 2));
    return { ...capabilities, maxRecordBytes };
  }

  now(): Promise<number> {
    return this.#context.storageNow();
  }

  /** `request` is well-formed (`assertAppend`); the rest is asked here. Without `mayDelete` it may only add. */
  async append(threadId: string, request: AppendRequest, mayDelete: boolean): Promise<AppendOutcome> {
    await this.#assertAcceptable(request);
    const refusal = await this.#gate.refusalOf(threadId, request, mayDelete);
    if (refusal !== undefined) return refusal;
    const place = { operation: "append", threadId };
    const outcome = await this.#context.call(place, (log) => log.append(this.#inside(threadId), request));
    if (outcome.appended) {
      this.#gate.appended(threadId, request);
      this.#indexLater();
      this.#announce(threadId);
    }
    return outcome;
  }

  async #assertAcceptable({ record, replace = [], ttlMs }: AppendRequest): Promise<void> {
    const { log } = await this.capabilities();
    for (const { seq, body } of [record, ...replace]) {
      if (body.byteLength <= log.maxRecordBytes) continue;
      throw new Refusal("TOO_LARGE", `record ${seq} is ${body.byteLength} bytes; at most ${log.maxRecordBytes}`);
    }
    if (ttlMs !== undefined && !log.ttl) {
      throw new StateError("UNSUPPORTED", "the storage has no expiry", { capability: "ttl" });
    }
  }

  /** A failure here harms no append; the next search meets it and reports it. */
  #indexLater(): void {
    this.#unindexed++;
    if (this.#context.log.catchUp === undefined || this.#unindexed < APPENDS_PER_INDEXING) return;
    this.#unindexed = 0;
    this.#catchUp().catch(() => undefined);
  }

  #catchUp(): Promise<void> {
    return this.#context.call({ operation: "search" }, async (log) => log.catchUp?.(wordsOrNone));
  }

  readTail(threadId: string): Promise<LogChain | undefined> {
    return this.#context.call({ operation: "readTail", threadId }, (log) => log.readTail(this.#inside(threadId)));
  }

  readCheckpoint(threadId: string, checkpointId: string): Promise<LogChain | undefined> {
    const place = { operation: "readCheckpoint", threadId, checkpointId };
    return this.#context.call(place, (log) => log.readCheckpoint(this.#inside(threadId), checkpointId));
  }

  entry(threadId: string, checkpointId: string): Promise<LogEntry | undefined> {
    const place = { operation: "entry", threadId, checkpointId };
    return this.#context.call(place, (log) => log.entry(this.#inside(threadId), checkpointId));
  }

  tail(threadId: string): Promise<ThreadTail | undefined> {
    return this.#context.call({ operation: "tail", threadId }, (log) => log.tail(this.#inside(threadId)));
  }

  list(threadId: string, options: { readonly before?: number; readonly limit: number }): Promise<readonly LogEntry[]> {
    return this.#context.call({ operation: "list", threadId }, (log) => log.list(this.#inside(threadId), options));
  }

  async remove(threadId: string, ifTail: ThreadPlace | undefined): Promise<"removed" | "absent" | "moved"> {
    const place = { operation: "remove", threadId };
    const outcome = await this.#context.call(place, (log) => log.remove(this.#inside(threadId), ifTail));
    if (outcome === "removed") this.#announce(threadId);
    return outcome;
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    const place = { operation: "copy", threadId: source };
    const [from, to] = [this.#inside(source), this.#inside(target)];
    const outcome = await this.#context.call(place, (log) => log.copy(from, to, generation));
    if (outcome === "copied") this.#announce(target);
    return outcome;
  }

  async listThreads(query: PageQuery): Promise<LogPage<ThreadEntry>> {
    const place = { operation: "listThreads" };
    await this.#context.connect(place);
    if (!this.#context.log.capabilities.listThreads) throw cannot("listThreads");
    const options = this.#opened(query, "threads");
    return this.#page(await this.#context.call(place, (log) => log.listThreads(options)), "threads");
  }

  async queryMetadata(key: string, valueJson: string, query: PageQuery): Promise<LogPage<ThreadEntry>> {
    const options = this.#opened(query, "metadata");
    const found = await this.#context.call({ operation: "queryMetadata" }, async (log) => {
      if (log.queryMetadata === undefined) throw cannot("metadataQuery");
      return log.queryMetadata(key, valueJson, options);
    });
    return this.#page(found, "metadata");
  }

  async search(words: readonly string[], prefix: string, limit: number): Promise<readonly SearchHit[]> {
    await this.#catchUp();
    const hits = await this.#context.call({ operation: "search" }, async (log) => {
      if (log.search === undefined) throw cannot("search");
      return log.search(words, { limit, prefix: this.#prefix + prefix });
    });
    return hits.map((hit) => ({ ...hit, threadId: this.#outside(hit.threadId) }));
  }

  /** Whether the storage itself tells of changes, whoever made them. */
  get tellsOfChanges(): boolean {
    return this.#context.log.subscribe !== undefined;
  }

  /** Calls back after changes that came through here, and after all of them where the storage tells. */
  subscribe(threadId: string, onChange: () => void): () => void {
    const unsubscribe = this.#context.log.subscribe?.(this.#inside(threadId), onChange);
    if (unsubscribe !== undefined) return unsubscribe;
    const listeners = this.#listeners.get(threadId) ?? new Set();
    this.#listeners.set(threadId, listeners.add(onChange));
    return () => {
      listeners.delete(onChange);
      if (listeners.size === 0) this.#listeners.delete(threadId);
    };
  }

  #announce(threadId: string): void {
    for (const listener of this.#listeners.get(threadId) ?? []) listener();
  }

  #opened({ prefix, cursor, limit }: PageQuery, kind: string): { prefix: string; cursor?: string; limit: number } {
    const inside = this.#prefix + prefix;
    return {
      prefix: inside,
      limit,
      ...(cursor !== undefined && { cursor: this.#seal.open(cursor, this.#purpose(kind)) }),
    };
  }

  #page({ items, cursor }: LogPage<ThreadEntry>, kind: string): LogPage<ThreadEntry> {
    return {
      items: items.map(({ threadId, head }) => ({ threadId: this.#outside(threadId), head })),
      cursor: cursor === undefined ? undefined : this.#seal.seal(cursor, this.#purpose(kind)),
    };
  }

  #purpose(kind: string): string {
    return `${kind} of ${this.#prefix}`;
  }

  #inside(threadId: string): string {
    return this.#prefix + threadId;
  }

  /** What a driver finds outside the prefix it was given is not handed out: better no answer than another tenant's. */
  #outside(threadId: string): string {
    if (threadId.startsWith(this.#prefix)) return threadId.slice(this.#prefix.length);
    throw new StateError("CORRUPT", "the storage answered with a thread that was not asked for");
  }
}

/**
 * The index is one for all tenants. A record that one of them wrote and that
 * cannot be read must not stand between the others and what they search for; its
 * own thread tells of the damage when it is loaded.
 */
function wordsOrNone(record: LogRecord): string | undefined {
  try {
    return wordsOf(newMessagesOf(record));
  } catch {
    return undefined;
  }
}

const cannot = (capability: string): StateError =>
  new StateError("UNSUPPORTED", `the storage cannot do this: ${capability} is false`, { capability });
