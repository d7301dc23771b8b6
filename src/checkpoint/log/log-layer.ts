import type { ScrubReport } from "../../driver/driver.ts";
import type { ErrorCode } from "../../errors.ts";
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
  WithRecords,
} from "./thread-log.ts";

/**
 * A log over another one that changes nothing. A layer extends it and overrides
 * what it means to change; so it keeps working when the contract grows.
 */
export abstract class LogLayer implements ThreadLog {
  readonly name: string;
  protected readonly below: ThreadLog;
  #capabilities: { readonly below: LogCapabilities; readonly own: LogCapabilities } | undefined;

  constructor(below: ThreadLog) {
    this.name = below.name;
    this.below = below;
  }

  get secrets(): readonly string[] {
    return this.below.secrets ?? [];
  }

  /** Derived anew when the log below states others, as it may once it is connected; until then one object. */
  get capabilities(): LogCapabilities {
    const { capabilities } = this.below;
    if (this.#capabilities?.below !== capabilities) {
      this.#capabilities = { below: capabilities, own: this.capabilitiesOver(capabilities) };
    }
    return this.#capabilities.own;
  }

  /** What this layer makes of the capabilities below. */
  protected capabilitiesOver(below: LogCapabilities): LogCapabilities {
    return below;
  }

  connect(): Promise<void> {
    return this.below.connect();
  }

  append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    return this.below.append(threadId, request);
  }

  readTail(threadId: string, options?: { readonly newerThan?: KnownPlace }): Promise<LogChain | undefined> {
    return this.below.readTail(threadId, options);
  }

  readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return this.below.readCheckpoint(threadId, name);
  }

  readRecords(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<LogChain | undefined> {
    return this.below.readRecords(threadId, options);
  }

  entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return this.below.entry(threadId, name);
  }

  tail(threadId: string): Promise<ThreadTail | undefined> {
    return this.below.tail(threadId);
  }

  list(threadId: string, options: { readonly before?: number; readonly limit: number }): Promise<readonly LogEntry[]> {
    return this.below.list(threadId, options);
  }

  remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    return this.below.remove(threadId, ifTail);
  }

  copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return this.below.copy(source, target, generation);
  }

  listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ListedThread>> {
    return this.below.listThreads(options);
  }

  /** Not forwarded: records as they lie below are not what a layer shows. */
  readThreads(options: Parameters<ThreadLog["readThreads"]>[0]): Promise<LogPage<ListedThread & WithRecords>> {
    return this.listThreads(options);
  }

  search(words: readonly string[], options: SearchRange): Promise<FoundRecords> {
    return this.below.search(words, options);
  }

  catchUp(wordsOf: (record: LogRecord) => string | undefined, signal?: AbortSignal): Promise<void> {
    return this.below.catchUp(wordsOf, signal);
  }

  queryMetadata(
    key: string,
    valueJson: string,
    options: { readonly cursor?: string; readonly limit: number; readonly prefix?: string },
  ): Promise<LogPage<ListedThread>> {
    return this.below.queryMetadata(key, valueJson, options);
  }

  subscribe(threadId: string, onChange: () => void): () => void {
    return this.below.subscribe(threadId, onChange);
  }

  now(): Promise<number> {
    return this.below.now();
  }

  declined(error: unknown): boolean {
    return this.below.declined(error);
  }

  scrub(): Promise<ScrubReport> {
    return this.below.scrub();
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.below.classify(error);
  }

  close(): Promise<void> {
    return this.below.close();
  }
}
