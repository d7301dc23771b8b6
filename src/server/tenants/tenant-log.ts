import { CheckpointContext } from "../../checkpoint/context.ts";
import { catchUpIndex } from "../../checkpoint/find/searching.ts";
import { recordsIn } from "../../checkpoint/log/driver-rules.ts";
import { PrefixLog } from "../../checkpoint/log/prefix-log.ts";
import type {
  AppendOutcome,
  AppendRequest,
  FoundRecords,
  KnownPlace,
  ListedThread,
  LogCapabilities,
  LogChain,
  LogEntry,
  LogPage,
  SearchHit,
  ThreadTail,
} from "../../checkpoint/log/thread-log.ts";
import { type SendOptions, type Sent, sendSignal } from "../../checkpoint/signals/sending.ts";
import type { Signal } from "../../checkpoint/signals/signal.ts";
import type { CallPlace } from "../../driver/call.ts";
import { MAX_ID_BYTES, MAX_THREAD_ID_BYTES } from "../../driver/ids.ts";
import { Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import { isSearchWord } from "../../state/words.ts";
import { Refusal } from "../request/refusal.ts";
import { AppendGate } from "./append-gate.ts";
import type { CursorSigner } from "./cursors.ts";

export interface PageQuery {
  readonly prefix: string;
  readonly cursor: string | undefined;
  readonly limit: number;
}

interface Range {
  readonly before?: number;
  readonly limit: number;
}

/**
 * The log as the service hands it to one tenant: the tenant's part of it
 * (`PrefixLog`) behind guarded calls, with what a stranger's requests need
 * besides: limits, checks of appends, signed cursors, and notices of changes
 * that came through here. Everything the service does with threads goes through
 * here. A tenant's name holds no slash, so the first slash ends it, and no id of
 * one tenant is, or begins like, an id of another.
 */
export class TenantLog {
  readonly #context: CheckpointContext;
  readonly #part: PrefixLog;
  readonly #tenant: string | undefined;
  readonly #cursors: CursorSigner;
  readonly #maxBodyBytes: number;
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #gate = new AppendGate(this);
  readonly #mailbox: CheckpointContext;

  /** Without tenants it is the whole log. */
  constructor(context: CheckpointContext, tenant: string | undefined, cursors: CursorSigner, maxBodyBytes: number) {
    this.#context = context;
    this.#part = new PrefixLog(context.log, tenant === undefined ? "" : `${tenant}/`);
    this.#tenant = tenant;
    this.#cursors = cursors;
    this.#maxBodyBytes = maxBodyBytes;
    const { redactor, now } = context;
    this.#mailbox = new CheckpointContext(this.#part, { now, ...(redactor !== undefined && { redact: redactor }) });
  }

  /** Half a body, because an append may bring a second record, or the words of the first. */
  async capabilities(): Promise<LogCapabilities> {
    await this.#context.connect({ operation: "capabilities" });
    const { capabilities } = this.#part;
    const maxRecordBytes = Math.min(capabilities.maxRecordBytes, Math.floor(this.#maxBodyBytes / 2));
    return { ...capabilities, maxRecordBytes, maxThreadIdBytes: this.maxThreadIdBytes };
  }

  /** A tenant is a user; without tenants, a service takes the ids of one that has them and stands in front of it. */
  get maxThreadIdBytes(): number {
    const { maxThreadIdBytes = MAX_THREAD_ID_BYTES } = this.#part.capabilities;
    return this.#tenant === undefined ? maxThreadIdBytes : Math.min(maxThreadIdBytes, MAX_ID_BYTES);
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
    const outcome = await this.#call(place, (log) => log.append(threadId, request));
    if (outcome.appended) {
      this.#gate.appended(threadId, request);
      this.#context.index.appended();
      this.#announce(threadId);
    }
    return outcome;
  }

  /** The storage must refuse a wrong tail: a sender holds no lease. */
  async send(threadId: string, signal: Signal, options: SendOptions): Promise<Sent> {
    if (!(await this.capabilities()).conditionalAppend) {
      throw new StateError("UNSUPPORTED", "the storage compares no tails", { capability: "conditionalSave" });
    }
    const sent = await sendSignal(this.#mailbox, threadId, signal, options);
    if (!sent.isRepeated) this.#announce(threadId);
    return sent;
  }

  async #assertAcceptable(request: AppendRequest): Promise<void> {
    const { replace = [], ttlMs } = request;
    const { maxRecordBytes, ttl } = await this.capabilities();
    for (const { seq, body } of [...recordsIn(request), ...replace]) {
      if (body.byteLength <= maxRecordBytes) continue;
      throw new Refusal("TOO_LARGE", `record ${seq} is ${body.byteLength} bytes; at most ${maxRecordBytes}`);
    }
    if (ttlMs !== undefined && !ttl) {
      throw new StateError("UNSUPPORTED", "the storage has no expiry", { capability: "ttl" });
    }
  }

  /** One tenant's part of the log, in a call that is retried and whose failure says where. */
  #call<T>(place: CallPlace, work: (part: PrefixLog) => Promise<T>): Promise<T> {
    return this.#context.call(place, () => work(this.#part));
  }

  readTail(threadId: string, newerThan: KnownPlace | undefined): Promise<LogChain | undefined> {
    const options = newerThan === undefined ? {} : { newerThan };
    return this.#call({ operation: "readTail", threadId }, (log) => log.readTail(threadId, options));
  }

  readRecords(threadId: string, options: Range): Promise<LogChain | undefined> {
    return this.#call({ operation: "readRecords", threadId }, (log) => log.readRecords(threadId, options));
  }

  readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    const place = { operation: "readCheckpoint", threadId, checkpointId: name };
    return this.#call(place, (log) => log.readCheckpoint(threadId, name));
  }

  entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    const place = { operation: "entry", threadId, checkpointId: name };
    return this.#call(place, (log) => log.entry(threadId, name));
  }

  tail(threadId: string): Promise<ThreadTail | undefined> {
    return this.#call({ operation: "tail", threadId }, (log) => log.tail(threadId));
  }

  list(threadId: string, options: Range): Promise<readonly LogEntry[]> {
    return this.#call({ operation: "list", threadId }, (log) => log.list(threadId, options));
  }

  async remove(threadId: string, ifTail: KnownPlace | undefined): Promise<"removed" | "absent" | "moved"> {
    const place = { operation: "remove", threadId };
    const outcome = await this.#call(place, (log) => log.remove(threadId, ifTail));
    if (outcome === "removed") this.#announce(threadId);
    return outcome;
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    const place = { operation: "copy", threadId: source };
    const outcome = await this.#call(place, (log) => log.copy(source, target, generation));
    if (outcome === "copied") this.#announce(target);
    return outcome;
  }

  async listThreads(query: PageQuery): Promise<LogPage<ListedThread>> {
    const place = { operation: "listThreads" };
    const options = this.#opened(query, "threads");
    return this.#page(await this.#call(place, (log) => log.listThreads(options)), "threads");
  }

  async queryMetadata(key: string, valueJson: string, query: PageQuery): Promise<LogPage<ListedThread>> {
    const options = this.#opened(query, "metadata");
    const found = await this.#call({ operation: "queryMetadata" }, (log) => log.queryMetadata(key, valueJson, options));
    return this.#page(found, "metadata");
  }

  async search(
    words: readonly string[],
    { prefix, limit, after }: { readonly prefix: string; readonly limit: number; readonly after: string | undefined },
  ): Promise<FoundRecords> {
    const place = after === undefined ? {} : { after: this.#cursors.verify(after, this.#purpose("search")) };
    // A tenant's unreadable record must not stop other callers from reading the rest.
    await catchUpIndex(this.#context, new Warnings());
    const { hits, order } = await this.#call({ operation: "search" }, async (log): Promise<FoundRecords> => {
      // Drivers count on words. What is no word is in no record.
      if (words.length === 0 || !words.every(isSearchWord)) return { hits: [], order: "best" };
      return log.search(words, { limit, prefix, ...place });
    });
    return { hits: hits.map((hit) => this.#sealedPlace(hit)), order };
  }

  /** Whether the storage itself reports changes, whichever process made them. */
  get tellsOfChanges(): boolean {
    return this.#part.capabilities.subscribe === true;
  }

  /** Calls back after changes that came through here, and after all of them where the storage tells. */
  subscribe(threadId: string, onChange: () => void): () => void {
    if (this.tellsOfChanges) return this.#part.subscribe(threadId, onChange);
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
    return {
      prefix,
      limit,
      ...(cursor !== undefined && { cursor: this.#cursors.verify(cursor, this.#purpose(kind)) }),
    };
  }

  #page({ items, cursor }: LogPage<ListedThread>, kind: string): LogPage<ListedThread> {
    return {
      items,
      cursor: cursor === undefined ? undefined : this.#cursors.sign(cursor, this.#purpose(kind)),
    };
  }

  #sealedPlace(hit: SearchHit): SearchHit {
    return hit.place === undefined ? hit : { ...hit, place: this.#cursors.sign(hit.place, this.#purpose("search")) };
  }

  #purpose(kind: string): string {
    return `${kind} of ${this.#tenant === undefined ? "" : `${this.#tenant}/`}`;
  }
}
