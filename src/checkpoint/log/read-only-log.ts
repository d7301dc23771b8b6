import { readOnlyAccess } from "../../driver/access.ts";
import type { ErrorCode } from "../../errors.ts";
import { layeredMethod } from "./layered-method.ts";
import type {
  AppendOutcome,
  ListedThread,
  LogCapabilities,
  LogChain,
  LogEntry,
  LogPage,
  ThreadLog,
  ThreadTail,
} from "./thread-log.ts";

/**
 * A log that can be read but not changed, which `access: "read"` puts in front of
 * every driver. A write is refused here, before the driver hears of it. What a
 * driver does to its storage while opening is the driver's own duty, because no
 * layer sees that.
 *
 * It has no `catchUp`, because indexing writes. An index that is updated that way
 * may lack the newest records, so `search` is missing too and threads are scanned
 * instead: slower, but complete. An index that is maintained within `append` is
 * used.
 */
export class ReadOnlyLog implements ThreadLog {
  readonly name: string;
  declare readonly connect?: NonNullable<ThreadLog["connect"]>;
  declare readonly search?: NonNullable<ThreadLog["search"]>;
  declare readonly queryMetadata?: NonNullable<ThreadLog["queryMetadata"]>;
  declare readonly subscribe?: NonNullable<ThreadLog["subscribe"]>;
  declare readonly now?: NonNullable<ThreadLog["now"]>;
  readonly #inner: ThreadLog;

  constructor(inner: ThreadLog) {
    this.name = inner.name;
    this.#inner = inner;
    const search = layeredMethod(inner, "search", (method) => method);
    Object.defineProperties(this, {
      connect: layeredMethod(inner, "connect", (connect) => connect),
      search: { get: () => (inner.catchUp === undefined ? search.get?.() : undefined) },
      queryMetadata: layeredMethod(inner, "queryMetadata", (queryMetadata) => queryMetadata),
      subscribe: layeredMethod(inner, "subscribe", (subscribe) => subscribe),
      now: layeredMethod(inner, "now", (now) => now),
    });
  }

  get secrets(): readonly string[] {
    return this.#inner.secrets ?? [];
  }

  /** Those of the storage. */
  get capabilities(): LogCapabilities {
    return this.#inner.capabilities;
  }

  async append(): Promise<AppendOutcome> {
    throw readOnlyAccess();
  }

  async remove(): Promise<"removed" | "absent" | "moved"> {
    throw readOnlyAccess();
  }

  async copy(): Promise<"copied" | "no source" | "target exists"> {
    throw readOnlyAccess();
  }

  readTail(...given: Parameters<ThreadLog["readTail"]>): Promise<LogChain | undefined> {
    return this.#inner.readTail(...given);
  }

  readCheckpoint(...given: Parameters<ThreadLog["readCheckpoint"]>): Promise<LogChain | undefined> {
    return this.#inner.readCheckpoint(...given);
  }

  readRecords(...given: Parameters<ThreadLog["readRecords"]>): Promise<LogChain | undefined> {
    return this.#inner.readRecords(...given);
  }

  entry(...given: Parameters<ThreadLog["entry"]>): Promise<LogEntry | undefined> {
    return this.#inner.entry(...given);
  }

  tail(...given: Parameters<ThreadLog["tail"]>): Promise<ThreadTail | undefined> {
    return this.#inner.tail(...given);
  }

  list(...given: Parameters<ThreadLog["list"]>): Promise<readonly LogEntry[]> {
    return this.#inner.list(...given);
  }

  listThreads(...given: Parameters<ThreadLog["listThreads"]>): Promise<LogPage<ListedThread>> {
    return this.#inner.listThreads(...given);
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#inner.classify(error);
  }

  /** Unlike a view of a part, this owns the whole log and closes it. */
  close(): Promise<void> {
    return this.#inner.close();
  }
}
