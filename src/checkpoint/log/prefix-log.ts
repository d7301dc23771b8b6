import { NOT_SCRUBBED, type ScrubReport } from "../../driver/driver.ts";
import { assertThreadId, assertThreadPrefix, MAX_THREAD_ID_BYTES } from "../../driver/ids.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { layeredMethod, type OptionalMethod } from "./layered-method.ts";
import { isReadable } from "./listed-threads.ts";
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
 * This is the pattern for every layer. It is a `ThreadLog` and passes the driver
 * suite, it has exactly the optional methods of the log below, and it states its
 * own limits in its capabilities. Closing it leaves the log below open. If the
 * log below has `connect` and several views share it, their maker ensures that
 * two do not connect at once.
 */
export class PrefixLog implements ThreadLog {
  readonly name: string;
  declare readonly connect?: NonNullable<ThreadLog["connect"]>;
  declare readonly search?: NonNullable<ThreadLog["search"]>;
  declare readonly catchUp?: NonNullable<ThreadLog["catchUp"]>;
  declare readonly queryMetadata?: NonNullable<ThreadLog["queryMetadata"]>;
  declare readonly subscribe?: NonNullable<ThreadLog["subscribe"]>;
  declare readonly now?: NonNullable<ThreadLog["now"]>;
  declare readonly declined?: NonNullable<ThreadLog["declined"]>;
  readonly #inner: ThreadLog;
  readonly #prefix: string;
  readonly #subscriptions = new Set<() => void>();
  #capabilities: { readonly inner: LogCapabilities; readonly own: LogCapabilities } | undefined;
  #isClosed = false;

  /** An empty prefix is the whole log. */
  constructor(inner: ThreadLog, prefix: string) {
    if (prefix !== "") assertThreadPrefix(prefix);
    this.name = inner.name;
    this.#inner = inner;
    this.#prefix = prefix;
    Object.defineProperties(this, this.#optionalMethods());
  }

  get secrets(): readonly string[] {
    return this.#inner.secrets ?? [];
  }

  /** As below, except that the prefix takes its share of the longest thread id. */
  get capabilities(): LogCapabilities {
    const { capabilities: inner } = this.#inner;
    if (this.#capabilities?.inner !== inner) {
      const { maxThreadIdBytes = MAX_THREAD_ID_BYTES } = inner;
      const own = { ...inner, maxThreadIdBytes: maxThreadIdBytes - Buffer.byteLength(this.#prefix) };
      this.#capabilities = { inner, own };
    }
    return this.#capabilities.own;
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    return this.#opened().append(this.#inside(threadId), request);
  }

  async readTail(threadId: string, options?: { readonly newerThan?: KnownPlace }): Promise<LogChain | undefined> {
    return this.#opened().readTail(this.#inside(threadId), options);
  }

  async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return this.#opened().readCheckpoint(this.#inside(threadId), name);
  }

  async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return this.#opened().entry(this.#inside(threadId), name);
  }

  async readRecords(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<LogChain | undefined> {
    return this.#opened().readRecords(this.#inside(threadId), options);
  }

  async tail(threadId: string): Promise<ThreadTail | undefined> {
    return this.#opened().tail(this.#inside(threadId));
  }

  async list(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<readonly LogEntry[]> {
    return this.#opened().list(this.#inside(threadId), options);
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    return this.#opened().remove(this.#inside(threadId), ifTail);
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return this.#opened().copy(this.#inside(source), this.#inside(target), generation);
  }

  async listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ListedThread>> {
    return this.#page(await this.#opened().listThreads(this.#within(options)));
  }

  /** For the whole log below: its files are not divided. */
  async scrub(): Promise<ScrubReport> {
    return (await this.#opened().scrub?.()) ?? NOT_SCRUBBED;
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#inner.classify(error);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of [...this.#subscriptions]) stop();
  }

  /** `connect` may add methods to a log, so each is looked up when it is used. */
  #optionalMethods(): Readonly<Record<OptionalMethod, PropertyDescriptor>> {
    const inner = this.#inner;
    return {
      connect: layeredMethod(inner, "connect", (connect) => async () => {
        this.#opened();
        await connect();
      }),
      search: layeredMethod(inner, "search", (search) => async (words, options) => {
        this.#opened();
        return this.#best(options.limit, (limit) => search(words, { ...this.#within(options), limit }));
      }),
      // The log below has one index, so this also indexes threads that are not visible here.
      catchUp: layeredMethod(inner, "catchUp", (catchUp) => async (wordsOf, signal) => {
        this.#opened();
        await catchUp(wordsOf, signal);
      }),
      queryMetadata: layeredMethod(inner, "queryMetadata", (queryMetadata) => async (key, valueJson, options) => {
        this.#opened();
        return this.#page(await queryMetadata(key, valueJson, this.#within(options)));
      }),
      subscribe: layeredMethod(inner, "subscribe", (subscribe) => (threadId, onChange) => {
        this.#opened();
        return this.#untilClosed(subscribe(this.#inside(threadId), onChange));
      }),
      now: layeredMethod(inner, "now", (now) => async () => {
        this.#opened();
        return now();
      }),
      declined: layeredMethod(inner, "declined", (declined) => declined),
    };
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

  /** Never returns what the log below finds outside its prefix: no answer is better than somebody else's. */
  #outside({ threadId }: { readonly threadId: string }): string {
    if (threadId.startsWith(this.#prefix)) return threadId.slice(this.#prefix.length);
    throw new StateError("CORRUPT", "the storage answered with a thread that was not asked for");
  }

  #inside(threadId: string): string {
    assertThreadId(threadId, this.capabilities.maxThreadIdBytes);
    return this.#prefix + threadId;
  }

  #opened(): ThreadLog {
    if (!this.#isClosed) return this.#inner;
    throw new StateError("CLOSED", "used after close(); the log below may still be open");
  }
}
