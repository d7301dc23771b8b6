import type { ScrubReport } from "../../driver/driver.ts";
import type { BucketSource } from "../../driver/object-bucket.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { assertAppend } from "../log/driver-rules.ts";
import {
  type AppendOutcome,
  type AppendRequest,
  BaseThreadLog,
  type KnownPlace,
  type ListedThread,
  type LogCapabilities,
  type LogChain,
  type LogEntry,
  type LogPage,
  type ThreadLog,
} from "../log/thread-log.ts";
import { append } from "./appending.ts";
import { copyThread } from "./copying.ts";
import { removeLeftovers } from "./finishing.ts";
import { checkedPrefix, Layout } from "./layout.ts";
import { Removals } from "./removing.ts";
import { ThreadReader } from "./thread-reader.ts";
import { ThreadStore, untilNotOvertaken } from "./thread-store.ts";
import { walkThreads } from "./thread-walk.ts";

interface Opened {
  readonly store: ThreadStore;
  readonly removals: Removals;
}

/** Threads as objects in a bucket, shared by any number of processes. For their layout see `layout.ts`. */
export class BucketLog extends BaseThreadLog implements ThreadLog {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly capabilities: LogCapabilities;
  readonly #source: BucketSource;
  readonly #layout: Layout;
  readonly #bucket: OpenOnce<Opened> = new OpenOnce(() => this.#connect());
  #isClosed = false;

  /** `place` is the prefix of all names, or how they are made where that is not enough. */
  constructor(source: BucketSource, place: string | Layout) {
    super();
    this.name = source.name;
    this.secrets = source.secrets ?? [];
    this.capabilities = {
      durability: source.durability,
      conditionalAppend: source.conditional ?? true,
      listThreads: source.lists ?? true,
      // Lifecycle rules go by the age of objects, not by a time for each thread.
      ttl: false,
      maxRecordBytes: source.maxRecordBytes ?? 64 * 1024 * 1024,
      // However long a chain is, it has few pages, and they are read at once.
      maxChainRecords: Number.POSITIVE_INFINITY,
    };
    this.#source = source;
    this.#layout = typeof place === "string" ? new Layout(checkedPrefix(place)) : place;
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    const { store } = await this.#open();
    return append(store, threadId, request);
  }

  readTail(threadId: string, options: { readonly newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    return this.#read(threadId, (reader) => reader.chainSince(options.newerThan));
  }

  readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return this.#read(threadId, async (reader) => {
      const found = await reader.find(name);
      return found && reader.chainTo(found);
    });
  }

  entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return this.#read(threadId, (reader) => reader.find(name));
  }

  readRecords(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<LogChain | undefined> {
    const { before = Number.POSITIVE_INFINITY, limit } = options;
    return this.#read(threadId, (reader) => reader.newest(before, limit));
  }

  tail(threadId: string): Promise<{ readonly generation: string; readonly entry: LogEntry } | undefined> {
    return this.#read(threadId, async ({ generation, tail }) => ({ generation, entry: tail }));
  }

  async list(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<readonly LogEntry[]> {
    const { before = Number.POSITIVE_INFINITY, limit } = options;
    const listed = await this.#read(threadId, async (reader) => {
      const found: LogEntry[] = [];
      if (limit < 1) return found;
      for await (const entry of reader.checkpointsDown(before, limit)) {
        if (found.push(entry) === limit) break;
      }
      return found;
    });
    return listed ?? [];
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    const { removals } = await this.#open();
    return removals.remove(threadId, ifTail);
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    const { store } = await this.#open();
    return copyThread(store, source, target, generation);
  }

  override async listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ListedThread>> {
    if (!this.capabilities.listThreads) throw cannotList();
    const { store } = await this.#open();
    return walkThreads(store, options);
  }

  /** Deletes the remains of processes that died in the middle, and of threads that a lifecycle rule removed. */
  async removeLeftovers(): Promise<void> {
    const { store } = await this.#open();
    await removeLeftovers(store);
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#source.classify(error);
  }

  override async scrub(): Promise<ScrubReport> {
    const { store } = await this.#open();
    await removeLeftovers(store);
    const { done, remains } = await store.bucket.deleteOlderVersions(this.#layout.prefix);
    return {
      done: ["objects that held it were deleted", ...done],
      remains: [...remains, "replicas of the bucket, and copies that rules of it made"],
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#bucket.opened();
    this.#bucket.forget();
    await opened?.store.bucket.close();
  }

  async #read<T>(threadId: string, read: (reader: ThreadReader) => Promise<T>): Promise<T | undefined> {
    const { store } = await this.#open();
    return untilNotOvertaken<T | undefined>(
      () => store.load(threadId),
      async ({ document }) => {
        if (document?.thread === undefined) return undefined;
        return read(new ThreadReader(store, threadId, document.thread));
      },
    );
  }

  #open(): Promise<Opened> {
    if (this.#isClosed) throw new StateError("CLOSED", "used after close(); open the bucket again");
    return this.#bucket.get();
  }

  async #connect(): Promise<Opened> {
    const store = new ThreadStore(await this.#source.open(), this.#layout, this.capabilities.listThreads);
    return { store, removals: new Removals(store) };
  }
}

const cannotList = (): StateError =>
  new StateError("UNSUPPORTED", 'this storage has no list(): the capability "listThreads" is false', {
    capability: "listThreads",
  });
