import { NOT_SCRUBBED, type ScrubReport } from "../../driver/driver.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import type { ErrorCode } from "../../errors.ts";
import type {
  AppendOutcome,
  AppendRequest,
  ListedThread,
  LogCapabilities,
  LogChain,
  LogEntry,
  LogPage,
  ThreadLog,
  ThreadTail,
} from "./thread-log.ts";

/** The optional methods of a driver. Features above the log ask for them before the driver is loaded. */
const OPTIONAL = ["connect", "search", "catchUp", "queryMetadata", "subscribe", "now", "declined"] as const;

export type OptionalOperation = (typeof OPTIONAL)[number];

/** What is known of a driver before its code is loaded. */
export interface DriverFacts {
  readonly name: string;
  /** The optional operations it has once it is constructed. `connect` may add others. */
  readonly offers: readonly OptionalOperation[];
  /** The capabilities that the driver states until it has made contact. */
  readonly capabilities: LogCapabilities;
}

/**
 * A driver whose code is imported on first use, so that a program that merely
 * names a backend does not load its driver. Options are checked earlier: a
 * mistake must show before the driver is constructed.
 */
export class DeferredLog<Log extends ThreadLog = ThreadLog> implements ThreadLog {
  readonly name: string;
  connect?: NonNullable<ThreadLog["connect"]>;
  search?: NonNullable<ThreadLog["search"]>;
  catchUp?: NonNullable<ThreadLog["catchUp"]>;
  queryMetadata?: NonNullable<ThreadLog["queryMetadata"]>;
  subscribe?: NonNullable<ThreadLog["subscribe"]>;
  now?: NonNullable<ThreadLog["now"]>;
  declined?: NonNullable<ThreadLog["declined"]>;
  readonly #facts: DriverFacts;
  readonly #loading: OpenOnce<Log>;
  readonly #lease: { release(): Promise<void> } | undefined;
  #loaded: Log | undefined;
  /** The same log once its offer is known: capabilities and operations change in one step. */
  #known: Log | undefined;
  #isClosed = false;

  /**
   * `lease` keeps open a connection that the driver may share with others, even
   * before the driver is loaded. It ends with `close`.
   */
  constructor(facts: DriverFacts, load: () => Promise<Log>, lease?: { release(): Promise<void> }) {
    this.name = facts.name;
    this.#lease = lease;
    this.#facts = facts;
    this.#loading = new OpenOnce(() => this.#load(load));
    this.#offer(facts.offers);
  }

  /** The driver itself, for what only one backend has. */
  driver(): Promise<Log> {
    return this.#loading.get();
  }

  get capabilities(): LogCapabilities {
    return this.#known?.capabilities ?? this.#facts.capabilities;
  }

  /** Nothing was sent before the driver was loaded, so no error can contain a secret. */
  get secrets(): readonly string[] {
    return this.#loaded?.secrets ?? [];
  }

  append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    return this.#ask((log) => log.append(threadId, request));
  }

  readTail(...given: Parameters<ThreadLog["readTail"]>): Promise<LogChain | undefined> {
    return this.#ask((log) => log.readTail(...given));
  }

  readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return this.#ask((log) => log.readCheckpoint(threadId, name));
  }

  entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return this.#ask((log) => log.entry(threadId, name));
  }

  readRecords(...given: Parameters<ThreadLog["readRecords"]>): Promise<LogChain | undefined> {
    return this.#ask((log) => log.readRecords(...given));
  }

  tail(threadId: string): Promise<ThreadTail | undefined> {
    return this.#ask((log) => log.tail(threadId));
  }

  list(...given: Parameters<ThreadLog["list"]>): Promise<readonly LogEntry[]> {
    return this.#ask((log) => log.list(...given));
  }

  remove(...given: Parameters<ThreadLog["remove"]>): Promise<"removed" | "absent" | "moved"> {
    return this.#ask((log) => log.remove(...given));
  }

  copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return this.#ask((log) => log.copy(source, target, generation));
  }

  listThreads(...given: Parameters<ThreadLog["listThreads"]>): Promise<LogPage<ListedThread>> {
    return this.#ask((log) => log.listThreads(...given));
  }

  scrub(): Promise<ScrubReport> {
    return this.#ask(async (log) => (await log.scrub?.()) ?? NOT_SCRUBBED);
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#loaded?.classify(error);
  }

  /** Closing does not load a driver that was never used. */
  async close(): Promise<void> {
    this.#isClosed = true;
    try {
      await (await this.#loading.opened())?.close();
    } finally {
      await this.#lease?.release();
    }
  }

  /** Synchronous once the driver is loaded. */
  #ask<T>(call: (log: Log) => Promise<T>): Promise<T> {
    return this.#loaded === undefined ? this.#loading.get().then(call) : call(this.#loaded);
  }

  async #load(load: () => Promise<Log>): Promise<Log> {
    const driver = await load();
    // After `close`, the driver itself refuses the call.
    if (this.#isClosed) await driver.close();
    this.#loaded = driver;
    if (driver.connect === undefined) this.#known = driver;
    return driver;
  }

  /** From now on it has exactly these optional operations. */
  #offer(offered: readonly OptionalOperation[]): void {
    const operations: Required<Pick<ThreadLog, OptionalOperation>> = {
      connect: () => this.#ask((log) => this.#connect(log)),
      search: (...given) => this.#ask(async (log) => (await log.search?.(...given)) ?? { hits: [], order: "best" }),
      catchUp: (...given) => this.#ask(async (log) => log.catchUp?.(...given)),
      queryMetadata: (...given) =>
        this.#ask(async (log) => (await log.queryMetadata?.(...given)) ?? { items: [], cursor: undefined }),
      subscribe: (threadId, onChange) => this.#subscribe(threadId, onChange),
      now: () => this.#ask(async (log) => (await log.now?.()) ?? Number.NaN),
      // Before the driver was loaded, nothing was asked of the storage.
      declined: (error) => this.#loaded === undefined || this.#loaded.declined?.(error) === true,
    };
    for (const name of OPTIONAL) delete this[name];
    Object.assign(this, Object.fromEntries(offered.map((name) => [name, operations[name]])));
  }

  async #connect(log: Log): Promise<void> {
    await log.connect?.();
    this.#offer(OPTIONAL.filter((name) => log[name] !== undefined));
    this.#known = log;
  }

  #subscribe(threadId: string, onChange: () => void): () => void {
    if (this.#loaded !== undefined) return this.#loaded.subscribe?.(threadId, onChange) ?? (() => undefined);
    let stop: (() => void) | undefined;
    let isOver = false;
    const begin = (log: Log): void => {
      if (isOver) return;
      stop = log.subscribe?.(threadId, onChange);
      // Changes made while the driver was loading were not seen.
      onChange();
    };
    // The next operation meets a failure to load, and says where.
    this.#loading.get().then(begin, () => undefined);
    return () => {
      isOver = true;
      stop?.();
    };
  }
}
