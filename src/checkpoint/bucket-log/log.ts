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
  type ThreadTail,
} from "../log/thread-log.ts";
import { checkedPrefix, type Layout } from "./layout.ts";
import type { OpenBucket } from "./open-bucket.ts";

/** Threads as objects in a bucket, shared by any number of processes. For their layout see `layout.ts`. */
export class BucketLog extends BaseThreadLog implements ThreadLog {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly capabilities: LogCapabilities;
  readonly #source: BucketSource;
  readonly #bucket: OpenOnce<OpenBucket>;
  #isClosed = false;

  /** `place` is the prefix of all names, or loads how they are made where that is not enough. */
  constructor(source: BucketSource, place: string | (() => Promise<Layout>)) {
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
    const prefix = typeof place === "string" ? checkedPrefix(place) : "";
    this.#bucket = new OpenOnce(async () => {
      const { Layout, OpenBucket } = await import("./open-bucket.ts");
      const layout = typeof place === "string" ? new Layout(prefix) : await place();
      return new OpenBucket(await source.open(), layout, this.capabilities.listThreads);
    });
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    return (await this.#open()).append(threadId, request);
  }

  async readTail(threadId: string, options?: { readonly newerThan?: KnownPlace }): Promise<LogChain | undefined> {
    return (await this.#open()).readTail(threadId, options);
  }

  async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return (await this.#open()).readCheckpoint(threadId, name);
  }

  async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return (await this.#open()).entry(threadId, name);
  }

  async readRecords(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<LogChain | undefined> {
    return (await this.#open()).readRecords(threadId, options);
  }

  async tail(threadId: string): Promise<ThreadTail | undefined> {
    return (await this.#open()).tail(threadId);
  }

  async list(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<readonly LogEntry[]> {
    return (await this.#open()).list(threadId, options);
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    return (await this.#open()).remove(threadId, ifTail);
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return (await this.#open()).copy(source, target, generation);
  }

  override async listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ListedThread>> {
    if (!this.capabilities.listThreads) throw cannotList();
    return (await this.#open()).listThreads(options);
  }

  /** Deletes the remains of processes that died in the middle, and of threads that a lifecycle rule removed. */
  async removeLeftovers(): Promise<void> {
    await (await this.#open()).removeLeftovers();
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#source.classify(error);
  }

  override async scrub(): Promise<ScrubReport> {
    return (await this.#open()).scrub();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#bucket.opened();
    this.#bucket.forget();
    await opened?.close();
  }

  #open(): Promise<OpenBucket> {
    if (this.#isClosed) throw new StateError("CLOSED", "used after close(); open the bucket again");
    return this.#bucket.get();
  }
}

const cannotList = (): StateError =>
  new StateError("UNSUPPORTED", 'this storage has no list(): the capability "listThreads" is false', {
    capability: "listThreads",
  });
