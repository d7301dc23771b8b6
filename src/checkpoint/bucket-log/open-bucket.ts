import type { ScrubReport } from "../../driver/driver.ts";
import type { ObjectBucket } from "../../driver/object-bucket.ts";
import type {
  AppendOutcome,
  AppendRequest,
  KnownPlace,
  ListedThread,
  LogChain,
  LogEntry,
  LogPage,
  ThreadTail,
} from "../log/thread-log.ts";
import { append } from "./appending.ts";
import { copyThread } from "./copying.ts";
import { removeLeftovers } from "./finishing.ts";
import type { Layout } from "./layout.ts";

import { Removals } from "./removing.ts";
import { ThreadReader } from "./thread-reader.ts";
import { ThreadStore, untilNotOvertaken } from "./thread-store.ts";
import { walkThreads } from "./thread-walk.ts";

export { Layout } from "./layout.ts";

/** What a log does in its bucket, once that is open. Loaded then: a program that has a log may never use it. */
export class OpenBucket {
  readonly #store: ThreadStore;
  readonly #removals: Removals;
  readonly #prefix: string;

  constructor(bucket: ObjectBucket, layout: Layout, lists: boolean) {
    this.#store = new ThreadStore(bucket, layout, lists);
    this.#removals = new Removals(this.#store);
    this.#prefix = layout.prefix;
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    return append(this.#store, threadId, request);
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

  tail(threadId: string): Promise<ThreadTail | undefined> {
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
    return this.#removals.remove(threadId, ifTail);
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return copyThread(this.#store, source, target, generation);
  }

  async listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ListedThread>> {
    return walkThreads(this.#store, options);
  }

  /** Deletes the remains of processes that died in the middle, and of threads that a lifecycle rule removed. */
  async removeLeftovers(): Promise<void> {
    await removeLeftovers(this.#store);
  }

  async scrub(): Promise<ScrubReport> {
    await removeLeftovers(this.#store);
    const { done, remains } = await this.#store.bucket.deleteOlderVersions(this.#prefix);
    return {
      done: ["objects that held it were deleted", ...done],
      remains: [...remains, "replicas of the bucket, and copies that rules of it made"],
    };
  }

  async #read<T>(threadId: string, read: (reader: ThreadReader) => Promise<T>): Promise<T | undefined> {
    return untilNotOvertaken<T | undefined>(
      () => this.#store.load(threadId),
      async ({ document }) => {
        if (document?.thread === undefined) return undefined;
        return read(new ThreadReader(this.#store, threadId, document.thread));
      },
    );
  }

  close(): Promise<void> {
    return this.#store.bucket.close();
  }
}
