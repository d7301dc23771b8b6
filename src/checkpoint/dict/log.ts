import { type ErrorCode, StateError } from "../../errors.ts";
import { assertAppend, firstUnknown } from "../log/driver-rules.ts";
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
import { classify } from "./classify.ts";
import { copyThread } from "./copying.ts";
import { type DictLogOptions, dictCapabilities } from "./dict-capabilities.ts";
import type { DictStorage } from "./dict-storage.ts";
import { Documents } from "./documents.ts";
import { removeThread } from "./removing.ts";
import { sweepOrphans } from "./sweeping.ts";
import { entryOf, type StoredThread } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";
import { walkThreads } from "./thread-walk.ts";

/** Threads in a storage that knows only keys. `layout.ts` describes their layout and why it is safe. */
export class DictLog extends BaseThreadLog implements ThreadLog {
  readonly name: string;
  readonly capabilities: LogCapabilities;
  readonly #storage: DictStorage;
  readonly #documents: Documents;
  #closed = false;

  constructor(storage: DictStorage, options: DictLogOptions) {
    super();
    this.name = options.name;
    this.capabilities = dictCapabilities(storage, options);
    this.#storage = storage;
    this.#documents = new Documents(storage);
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    return this.#change(threadId, (documents) => append(documents, threadId, request));
  }

  readTail(threadId: string, options: { readonly newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    return this.#read(threadId, async (reader, { generation, tail }) => {
      const { newerThan } = options;
      const isBelow = newerThan !== undefined && newerThan.generation === generation && newerThan.seq < tail.seq;
      const there = isBelow ? await reader.entryAt(newerThan.seq) : undefined;
      const from = firstUnknown({ generation, entry: entryOf(tail) }, newerThan, there);
      return { generation, tail: entryOf(tail), records: await reader.records(await reader.entriesFrom(from)) };
    });
  }

  readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return this.#read(threadId, async (reader, { generation, tail }) => {
      const target = await reader.find(name);
      if (target === undefined) return undefined;
      const entries = (await reader.entriesFrom(target.base)).filter(({ seq }) => seq <= target.seq);
      return { generation, tail: entryOf(tail), records: await reader.records(entries) };
    });
  }

  entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return this.#read(threadId, async (reader) => {
      const found = await reader.find(name);
      return found && entryOf(found);
    });
  }

  readRecords(threadId: string, options: { before?: number; limit: number }): Promise<LogChain | undefined> {
    return this.#read(threadId, async (reader, { generation, tail }) => ({
      generation,
      tail: entryOf(tail),
      records: await reader.newest(options.before, options.limit),
    }));
  }

  tail(threadId: string): Promise<{ generation: string; entry: LogEntry } | undefined> {
    return this.#read(threadId, async (_reader, { generation, tail }) => ({ generation, entry: entryOf(tail) }));
  }

  async list(threadId: string, { before, limit }: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    const listed = await this.#read(threadId, async (reader) => {
      const found: LogEntry[] = [];
      if (limit <= 0) return found;
      for await (const entry of reader.entriesDown(before)) {
        if (entry.checkpointId !== undefined) found.push(entryOf(entry));
        if (found.length === limit) break;
      }
      return found;
    });
    return listed ?? [];
  }

  remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    return this.#change(threadId, (documents) => removeThread(documents, threadId, ifTail));
  }

  copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return this.#change(target, (documents) =>
      documents.attempt(source, async ({ document }) =>
        document?.thread === undefined ? "no source" : copyThread(documents, document.thread, target, generation),
      ),
    );
  }

  /** Removes what interrupted or late work left behind; does nothing if the storage cannot list. */
  async sweep(): Promise<void> {
    this.#assertOpen();
    if (this.capabilities.listThreads) await sweepOrphans(this.#documents);
  }

  override async listThreads(options: {
    prefix: string;
    cursor?: string;
    limit: number;
  }): Promise<LogPage<ListedThread>> {
    this.#assertOpen();
    if (!this.capabilities.listThreads) throw cannotList();
    return walkThreads(this.#documents, options);
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#storage.close?.();
  }

  async #read<T>(
    threadId: string,
    work: (reader: ThreadReader, thread: StoredThread) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    this.#assertOpen();
    return this.#documents.attempt(threadId, async ({ document }) =>
      document?.thread === undefined
        ? undefined
        : work(new ThreadReader(this.#documents, document.thread), document.thread),
    );
  }

  async #change<T>(threadId: string, work: (documents: Documents) => Promise<T>): Promise<T> {
    this.#assertOpen();
    return this.#documents.exclusively(threadId, () => work(this.#documents));
  }

  #assertOpen(): void {
    if (this.#closed) throw new StateError("CLOSED", "the storage was closed");
  }
}

const cannotList = (): StateError =>
  new StateError("UNSUPPORTED", 'this storage has no list(): the capability "listThreads" is false', {
    capability: "listThreads",
  });
