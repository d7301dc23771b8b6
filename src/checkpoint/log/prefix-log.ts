import type { ScrubReport } from "../../driver/driver.ts";
import { assertThreadId, assertThreadPrefix, MAX_THREAD_ID_BYTES } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { isReadable } from "./listed-threads.ts";
import { LogLayer } from "./log-layer.ts";
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
  LogRecord,
  SearchRange,
  ThreadLog,
  ThreadTail,
} from "./thread-log.ts";

/** The most that any log is asked for at once. */
const MOST_HITS = 10_000;

/**
 * A part of another log as a log of its own: below, every thread's id has a
 * prefix. Ids without the prefix do not exist here, and nothing done here touches
 * them. Two views are disjoint unless one prefix begins with the other; a service
 * that keeps tenants apart ends each prefix with a slash, which no tenant's name
 * contains.
 *
 * This is the pattern for every layer. It passes the driver suite, offers what the
 * log below offers, and states its own limits in its capabilities. Closing it
 * leaves the log below open. If several views share a log, their maker ensures
 * that two do not connect at once.
 */
export class PrefixLog extends LogLayer {
  readonly #prefix: string;
  readonly #subscriptions = new Set<() => void>();
  #isClosed = false;

  /** An empty prefix is the whole log. */
  constructor(below: ThreadLog, prefix: string) {
    if (prefix !== "") assertThreadPrefix(prefix);
    super(below);
    this.#prefix = prefix;
  }

  /** As below, except that the prefix takes its share of the longest thread id. */
  protected override capabilitiesOver(below: LogCapabilities): LogCapabilities {
    const { maxThreadIdBytes = MAX_THREAD_ID_BYTES } = below;
    return { ...below, maxThreadIdBytes: maxThreadIdBytes - Buffer.byteLength(this.#prefix) };
  }

  override async connect(): Promise<void> {
    await this.#opened().connect();
  }

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    return this.#opened().append(this.#inside(threadId), request);
  }

  override async readTail(
    threadId: string,
    options?: { readonly newerThan?: KnownPlace },
  ): Promise<LogChain | undefined> {
    return this.#opened().readTail(this.#inside(threadId), options);
  }

  override async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return this.#opened().readCheckpoint(this.#inside(threadId), name);
  }

  override async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return this.#opened().entry(this.#inside(threadId), name);
  }

  override async readRecords(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<LogChain | undefined> {
    return this.#opened().readRecords(this.#inside(threadId), options);
  }

  override async tail(threadId: string): Promise<ThreadTail | undefined> {
    return this.#opened().tail(this.#inside(threadId));
  }

  override async list(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<readonly LogEntry[]> {
    return this.#opened().list(this.#inside(threadId), options);
  }

  override async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    return this.#opened().remove(this.#inside(threadId), ifTail);
  }

  override async copy(
    source: string,
    target: string,
    generation: string,
  ): Promise<"copied" | "no source" | "target exists"> {
    return this.#opened().copy(this.#inside(source), this.#inside(target), generation);
  }

  override async listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ListedThread>> {
    return this.#page(await this.#opened().listThreads(this.#within(options)));
  }

  override async search(words: readonly string[], options: SearchRange): Promise<FoundRecords> {
    const log = this.#opened();
    return this.#best(options.limit, (limit) => log.search(words, { ...this.#within(options), limit }));
  }

  /** The log below has one index, so this also indexes threads that are not visible here. */
  override async catchUp(wordsOf: (record: LogRecord) => string | undefined, signal?: AbortSignal): Promise<void> {
    await this.#opened().catchUp(wordsOf, signal);
  }

  override async queryMetadata(
    key: string,
    valueJson: string,
    options: { readonly cursor?: string; readonly limit: number; readonly prefix?: string },
  ): Promise<LogPage<ListedThread>> {
    return this.#page(await this.#opened().queryMetadata(key, valueJson, this.#within(options)));
  }

  override subscribe(threadId: string, onChange: () => void): () => void {
    return this.#untilClosed(this.#opened().subscribe(this.#inside(threadId), onChange));
  }

  override async now(): Promise<number> {
    return this.#opened().now();
  }

  /** For the whole log below: its files are not divided. */
  override async scrub(): Promise<ScrubReport> {
    return this.#opened().scrub();
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of [...this.#subscriptions]) stop();
  }

  /** Asks for more if hits that are not returned took the places of others. */
  async #best(limit: number, find: (limit: number) => Promise<FoundRecords>): Promise<FoundRecords> {
    for (let asked = limit; ; asked = Math.min(2 * asked, MOST_HITS)) {
      const { hits, order } = await find(asked);
      const known = this.#known(hits);
      if (known.length >= limit || hits.length < asked || asked >= MOST_HITS)
        return { hits: known.slice(0, limit), order };
    }
  }

  #untilClosed(unsubscribe: () => void): () => void {
    const stop = (): void => {
      this.#subscriptions.delete(stop);
      unsubscribe();
    };
    this.#subscriptions.add(stop);
    return stop;
  }

  #within<Options extends { readonly prefix?: string }>(options: Options): Options & { readonly prefix: string } {
    return { ...options, prefix: this.#prefix + (options.prefix ?? "") };
  }

  #page({ items, cursor }: LogPage<ListedThread>): LogPage<ListedThread> {
    return { items: items.flatMap((thread) => this.#listed(thread)), cursor };
  }

  /** Where a damaged thread lies may say what it is called, and it may be none of these. */
  #listed(thread: ListedThread): readonly ListedThread[] {
    const { threadId } = thread;
    if (threadId !== undefined) return this.#known([{ ...thread, threadId }]);
    if (this.#prefix === "" || isReadable(thread)) return [thread];
    const message = "a thread of the storage cannot be read, and whether it is one of these cannot be told";
    return [{ threadId, trouble: { code: thread.trouble.code, message } }];
  }

  /** The same hits with the ids as they are here. A thread whose id equals the prefix is outside the view. */
  #known<Item extends { readonly threadId: string }>(items: readonly Item[]): readonly Item[] {
    const named = this.#prefix === "" ? items : items.map((item) => ({ ...item, threadId: this.#outside(item) }));
    return named.filter(({ threadId }) => threadId !== "");
  }

  /** Never returns what the log below finds outside its prefix: no answer is better than another prefix's. */
  #outside({ threadId }: { readonly threadId: string }): string {
    if (threadId.startsWith(this.#prefix)) return threadId.slice(this.#prefix.length);
    throw new StateError("CORRUPT", "the storage answered with a thread that was not asked for");
  }

  #inside(threadId: string): string {
    assertThreadId(threadId, this.capabilities.maxThreadIdBytes);
    return this.#prefix + threadId;
  }

  #opened(): ThreadLog {
    if (!this.#isClosed) return this.below;
    throw new StateError("CLOSED", "used after close(); the log below may still be open");
  }
}
