import { assertAppend, firstUnknown } from "../../checkpoint/log/driver-rules.ts";
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
  type LogRecord,
  type ThreadLog,
} from "../../checkpoint/log/thread-log.ts";
import type { Access } from "../../driver/access.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { CheckpointIndex } from "./checkpoint-index.ts";
import { classify } from "./classify.ts";
import { copyThread } from "./copying.ts";
import { threadDirectoryName } from "./layout.ts";
import { checkpointsBelow, recordsBelow } from "./reading-down.ts";
import { removeThread, removeThreadAt } from "./removing.ts";
import { RootDirectory } from "./root.ts";
import { readThread, type Snapshot } from "./snapshot.ts";
import { ThreadWalk } from "./thread-walk.ts";
import { ThreadWriter } from "./writing.ts";

export interface FileLogOptions {
  readonly directory: string;
  /** How many of the newest records, at least 1, have their own files before they are folded into the history; 64. */
  readonly foldEvery?: number;
  /** With "read" the directory is not created, and nothing in it is changed. @default "write" */
  readonly access?: Access;
}

const FOLD_EVERY = 64;

const CAPABILITIES: LogCapabilities = {
  // Windows cannot sync a directory: a new name may be lost in a power failure.
  durability: process.platform === "win32" ? "os" : "fsync",
  conditionalAppend: true,
  listThreads: true,
  // No process runs when a file should expire. `vacuum` is what checks the clock.
  ttl: false,
  maxRecordBytes: 64 * 1024 * 1024,
  maxChainRecords: 64,
};

/** Threads as directories of readable files, shared by any number of processes. How: see `layout.ts`. */
export class FileLog extends BaseThreadLog implements ThreadLog {
  readonly name: string = "file";
  readonly capabilities: LogCapabilities;
  readonly #root: RootDirectory;
  readonly #writer: ThreadWriter;
  readonly #walk: ThreadWalk;
  readonly #index = new CheckpointIndex();
  #isClosed = false;

  constructor({ directory, foldEvery = FOLD_EVERY, access = "write" }: FileLogOptions) {
    super();
    this.#root = new RootDirectory(directory, access);
    this.capabilities = { ...CAPABILITIES, connects: access === "read" };
    this.#writer = new ThreadWriter(this.#root, foldEvery);
    this.#walk = new ThreadWalk(this.#root);
  }

  /** A writer creates the directory when needed; a reader reports that it is missing. */
  override async connect(): Promise<void> {
    if (this.capabilities.connects) await this.#open();
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    await this.#openForWriting();
    return this.#writer.append(threadId, request);
  }

  readTail(threadId: string, options: { readonly newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    const { newerThan } = options;
    return this.#read(threadId, async (snapshot) => {
      const { generation, entry } = snapshot.tail;
      const isBelow = newerThan !== undefined && newerThan.generation === generation && newerThan.seq < entry.seq;
      const there = isBelow ? await snapshot.entry(newerThan.seq) : undefined;
      return chainOf(snapshot, snapshot.records(firstUnknown(snapshot.tail, newerThan, there), entry.seq));
    });
  }

  readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return this.#read(threadId, async (snapshot) => {
      const found = await this.#find(snapshot, name);
      return found && chainOf(snapshot, snapshot.records(found.base, found.seq));
    });
  }

  entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return this.#read(threadId, (snapshot) => this.#find(snapshot, name));
  }

  readRecords(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<LogChain | undefined> {
    const { before = Number.POSITIVE_INFINITY, limit } = options;
    return this.#read(threadId, (snapshot) => chainOf(snapshot, recordsBelow(snapshot, before, limit)));
  }

  tail(threadId: string): Promise<{ readonly generation: string; readonly entry: LogEntry } | undefined> {
    return this.#read(threadId, async ({ tail: { generation, entry } }) => ({ generation, entry }));
  }

  async list(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<readonly LogEntry[]> {
    const { before = Number.POSITIVE_INFINITY, limit } = options;
    return (await this.#read(threadId, (snapshot) => checkpointsBelow(snapshot, before, limit))) ?? [];
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    // Not `#openForWriting`: it tests the directory by writing a file, but deleting must work on a full disk.
    await this.#open();
    return ifTail === undefined ? removeThread(this.#root, threadId) : removeThreadAt(this.#root, threadId, ifTail);
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    await this.#openForWriting();
    return copyThread(this.#root, source, { threadId: target, generation });
  }

  override async listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ListedThread>> {
    await this.#open();
    return this.#walk.page(options);
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  /** Files with replaced content were already removed when it was replaced. */
  override async scrub(): Promise<ScrubReport> {
    return { done: ["files that held it were removed"], remains: ["free blocks of the disk, unless it is encrypted"] };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#writer.foldAll();
  }

  async #read<T>(threadId: string, read: (snapshot: Snapshot) => Promise<T>): Promise<T | undefined> {
    await this.#open();
    return readThread(this.#root, threadDirectoryName(threadId), read);
  }

  async #find(snapshot: Snapshot, name: string): Promise<LogEntry | undefined> {
    const seq = await this.#index.find(snapshot, name);
    return seq === undefined ? undefined : snapshot.entry(seq);
  }

  async #open(): Promise<void> {
    if (this.#isClosed) throw new StateError("CLOSED", "used after close(); open the directory again");
    await this.#root.ready();
  }

  async #openForWriting(): Promise<void> {
    await this.#open();
    await this.#root.writable();
  }
}

async function chainOf({ tail }: Snapshot, records: Promise<readonly LogRecord[]>): Promise<LogChain> {
  return { generation: tail.generation, tail: tail.entry, records: await records };
}
