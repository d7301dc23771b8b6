import { assertNoPlace } from "../../checkpoint/find/search-place.ts";
import { assertAppend, firstUnknown } from "../../checkpoint/log/driver-rules.ts";
import {
  type AppendOutcome,
  type AppendRequest,
  BaseThreadLog,
  type FoundRecords,
  type KnownPlace,
  type ListedThread,
  type LogCapabilities,
  type LogChain,
  type LogEntry,
  type LogPage,
  type SearchRange,
  type ThreadLog,
} from "../../checkpoint/log/thread-log.ts";
import type { Lease } from "../../driver/connection.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import type { ErrorCode } from "../../errors.ts";
import { Appending } from "./appending.ts";
import { classify } from "./classify.ts";
import type { OpenSearchClient, OpensearchConnection } from "./connect.ts";
import { copyThread } from "./copying.ts";
import { entryOf } from "./documents.ts";
import { findThreads, searchRecords } from "./finding.ts";
import { findNamed } from "./finding-names.ts";
import { isFinished } from "./finishing.ts";
import { FloodStage } from "./flood-stage.ts";
import { Footings } from "./footings.ts";
import { type ThreadName, threadName } from "./layout.ts";
import { type IndexOptions, prepareIndex } from "./prepare-index.ts";
import { findThread, type Located, OVERTAKEN, ThreadReader, untilSteady } from "./reading.ts";
import { finishRemovals, removeThread } from "./removing.ts";
import { Requests } from "./requests.ts";

export interface OpenSearchLogOptions extends IndexOptions {
  readonly connection: OpensearchConnection;
  readonly namespace: string;
}

/** What no request can erase. */
const KEPT: readonly string[] = [
  "documents that were replaced, as long as the index retains them for recoveries (index.soft_deletes.retention_lease.period)",
  "the transaction log until it is trimmed, replicas of shards, and snapshots",
];

const CAPABILITIES: LogCapabilities = {
  // Whatever its settings, the server outlives this process. The first contact may tell more.
  durability: "os",
  conditionalAppend: true,
  listThreads: true,
  // Nothing removes a thread when it expires.
  ttl: false,
  // One request holds two records, and as text they may be twice as long; a server accepts 100 MB.
  maxRecordBytes: 16 * 1024 * 1024,
  maxChainRecords: 128,
  connects: true,
  search: "with words",
  metadataQuery: true,
};

/** Threads in OpenSearch. layout.ts explains how they are stored, and why that is safe. */
export class OpenSearchLog extends BaseThreadLog implements ThreadLog {
  readonly name: string = "opensearch";
  readonly secrets: readonly string[];
  readonly #options: OpenSearchLogOptions;
  readonly #footings = new Footings();
  readonly #floodStage = new FloodStage();
  #capabilities: LogCapabilities = CAPABILITIES;
  readonly #requests: Lease<Requests>;

  constructor(options: OpenSearchLogOptions) {
    super();
    this.#options = options;
    this.#requests = options.connection.lease((client) => this.#prepare(client));
    this.secrets = options.connection.secrets;
  }

  get capabilities(): LogCapabilities {
    return this.#capabilities;
  }

  override async connect(): Promise<void> {
    await this.#open();
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    const requests = await this.#open();
    const appending = new Appending(requests, this.#footings, this.#name(threadId), request);
    return this.#floodStage.despite(
      requests,
      () => appending.run(),
      () => appending.isDeletion,
    );
  }

  async readTail(threadId: string, { newerThan }: { newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    return this.#reading(threadId, "whole", async (reader, { thread, revision }) => {
      const { generation, tail } = thread;
      const isBelow = newerThan !== undefined && newerThan.generation === generation && newerThan.seq < tail.seq;
      const there = isBelow ? await reader.entriesAt([newerThan.seq]) : [];
      if (there === OVERTAKEN) return OVERTAKEN;
      const from = firstUnknown({ generation, entry: tail }, newerThan, there[0]);
      const records = await reader.range(from, tail.seq);
      if (records === OVERTAKEN) return OVERTAKEN;
      this.#footings.put({ thread, revision, finished: isFinished(thread) });
      return { generation, tail: entryOf(tail), records };
    });
  }

  async readRecords(
    threadId: string,
    { before, limit }: { before?: number; limit: number },
  ): Promise<LogChain | undefined> {
    return this.#reading(threadId, "whole", async (reader, { thread: { generation, tail } }) => {
      const records = await reader.newest((before ?? Number.POSITIVE_INFINITY) - 1, limit);
      return records === OVERTAKEN ? OVERTAKEN : { generation, tail: entryOf(tail), records };
    });
  }

  async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    const requests = await this.#open();
    return this.#reading(threadId, "whole", async (reader, located) => {
      const entry = await findNamed(requests, located, name);
      if (entry === undefined || entry === OVERTAKEN) return entry;
      const records = await reader.range(entry.base, entry.seq);
      if (records === OVERTAKEN) return OVERTAKEN;
      return { generation: located.thread.generation, tail: entryOf(located.thread.tail), records };
    });
  }

  async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    const requests = await this.#open();
    return this.#reading(threadId, "entries", (_, located) => findNamed(requests, located, name));
  }

  async tail(threadId: string): Promise<{ readonly generation: string; readonly entry: LogEntry } | undefined> {
    return this.#reading(threadId, "entries", async (_, { thread: { generation, tail } }) => ({
      generation,
      entry: entryOf(tail),
    }));
  }

  async list(threadId: string, { before, limit }: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    const entries = await this.#reading(threadId, "entries", async (reader, { thread: { floor, tail } }) => {
      const found: LogEntry[] = [];
      for (let to = Math.min((before ?? Number.POSITIVE_INFINITY) - 1, tail.seq); to >= floor; ) {
        const from = Math.max(to - Math.min(limit - found.length + SPARE, ENTRIES_AT_ONCE) + 1, floor);
        const read = await reader.entries(from, to);
        if (read === OVERTAKEN) return OVERTAKEN;
        found.push(...read.filter(({ checkpointId }) => checkpointId !== undefined).toReversed());
        if (found.length >= limit) break;
        to = from - 1;
      }
      return found.slice(0, limit).map(entryOf);
    });
    return entries ?? [];
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    this.#footings.take(threadId);
    const requests = await this.#open();
    return this.#floodStage.despite(requests, () => removeThread(requests, this.#name(threadId), ifTail));
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return copyThread(await this.#open(), this.#name(source), this.#name(target), generation);
  }

  override async listThreads(options: {
    prefix: string;
    cursor?: string;
    limit: number;
  }): Promise<LogPage<ListedThread>> {
    return findThreads(await this.#open(), { namespace: this.#options.namespace, ...options, cursor: options.cursor });
  }

  override async queryMetadata(
    key: string,
    valueJson: string,
    { cursor, limit, prefix = "" }: { cursor?: string; limit: number; prefix?: string },
  ): Promise<LogPage<ListedThread>> {
    return findThreads(await this.#open(), {
      namespace: this.#options.namespace,
      prefix,
      cursor,
      limit,
      member: { key, valueJson },
    });
  }

  override async search(words: readonly string[], { limit, prefix = "", after }: SearchRange): Promise<FoundRecords> {
    assertNoPlace(after);
    return searchRecords(await this.#open(), words, { namespace: this.#options.namespace, limit, prefix });
  }

  override async scrub(): Promise<ScrubReport> {
    const requests = await this.#open();
    try {
      await requests.expunge();
    } catch (error) {
      // The server keeps working after the client's timeout, and the user may lack the permission.
      const code = classify(error);
      if (code !== "TIMEOUT" && code !== "PERMISSION_DENIED") throw error;
      return {
        done: [],
        remains: [`segments of the index ${requests.index} until they are merged (_forcemerge)`, ...KEPT],
      };
    }
    return { done: ["the segments of the index were merged"], remains: KEPT };
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  close(): Promise<void> {
    return this.#requests.release();
  }

  /** `undefined` if there is no thread; repeated if it changed meanwhile. */
  async #reading<Answer>(
    threadId: string,
    what: "whole" | "entries",
    read: (reader: ThreadReader, located: Located) => Promise<Answer | undefined | typeof OVERTAKEN>,
  ): Promise<Answer | undefined> {
    const requests = await this.#open();
    return untilSteady(async () => {
      const found = await findThread(requests, this.#name(threadId), what);
      return found?.thread && read(new ThreadReader(requests, found), found);
    });
  }

  #name(threadId: string): ThreadName {
    return threadName(this.#options.namespace, threadId);
  }

  #open(): Promise<Requests> {
    return this.#requests.get();
  }

  async #prepare(client: OpenSearchClient): Promise<Requests> {
    const { requestTimeoutMs, access } = this.#options.connection;
    const settings = { ...this.#options, requestTimeoutMs, access };
    const facts = await prepareIndex(new Requests(client, settings, false), this.#options, access);
    this.#capabilities = { ...this.#capabilities, durability: facts.durability };
    const requests = new Requests(client, settings, facts.isAlias);
    // An unfinished removal must not make an unrelated call fail.
    if (access === "write") await finishRemovals(requests).catch(() => undefined);
    return requests;
  }
}

const ENTRIES_AT_ONCE = 500;
/** Some positions hold no checkpoint: reading a few more than asked for saves a second request. */
const SPARE = 8;
