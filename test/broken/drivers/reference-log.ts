import { openPlace, placeOf } from "../../../src/checkpoint/find/search-place.ts";
import { isReadable } from "../../../src/checkpoint/log/listed-threads.ts";
import {
  type AppendOutcome,
  type AppendRequest,
  BaseThreadLog,
  type FoundRecords,
  type KnownPlace,
  type LogCapabilities,
  type LogChain,
  type LogEntry,
  type LogPage,
  type LogRecord,
  type SearchHit,
  type SearchRange,
  type ThreadEntry,
  type ThreadLog,
  type ThreadTail,
} from "../../../src/checkpoint/log/thread-log.ts";
import type { ErrorCode } from "../../../src/errors.ts";

type Threads = LogPage<ThreadEntry>;

export interface MetadataRange {
  readonly limit: number;
  readonly prefix?: string;
  readonly cursor?: string;
}

/** So few that a case reaches it. */
const RANKED = 20;

const newestFirst = (one: SearchHit, other: SearchHit): number =>
  one.threadId === other.threadId ? other.entry.seq - one.entry.seq : one.threadId < other.threadId ? 1 : -1;

/**
 * A correct driver that can do everything, on top of one that cannot: it finds
 * things by reading everything. Each faulty driver is this one with one method
 * gone wrong, so that a case that fails, fails for that reason.
 */
export class ReferenceLog extends BaseThreadLog implements ThreadLog {
  readonly name = "reference";
  readonly capabilities: LogCapabilities;
  readonly #inner: ThreadLog;
  #trouble: string | undefined;

  constructor(inner: ThreadLog, search: "with words" | "deferred" = "with words") {
    super();
    this.#inner = inner;
    this.capabilities = { ...inner.capabilities, search, metadataQuery: true, ranksUpTo: RANKED };
  }

  /** From now on every call fails; until it is given back. */
  async outage(): Promise<() => Promise<void>> {
    this.#trouble = "unreachable";
    return async () => {
      this.#trouble = undefined;
    };
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    return this.#reach().append(threadId, request);
  }

  async readTail(threadId: string, options?: { newerThan?: KnownPlace }): Promise<LogChain | undefined> {
    return this.#reach().readTail(threadId, options);
  }

  async readCheckpoint(threadId: string, checkpointId: string): Promise<LogChain | undefined> {
    return this.#reach().readCheckpoint(threadId, checkpointId);
  }

  async entry(threadId: string, checkpointId: string): Promise<LogEntry | undefined> {
    return this.#reach().entry(threadId, checkpointId);
  }

  async readRecords(threadId: string, options: { before?: number; limit: number }): Promise<LogChain | undefined> {
    return this.#reach().readRecords(threadId, options);
  }

  async tail(threadId: string): Promise<ThreadTail | undefined> {
    return this.#reach().tail(threadId);
  }

  async list(threadId: string, options: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    return this.#reach().list(threadId, options);
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    return this.#reach().remove(threadId, ifTail);
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    return this.#reach().copy(source, target, generation);
  }

  override async listThreads(options: { prefix: string; cursor?: string; limit: number }): Promise<Threads> {
    const { items, cursor } = await this.#reach().listThreads(options);
    return { items: items.filter(isReadable), cursor };
  }

  override async search(words: readonly string[], { limit, prefix = "", after }: SearchRange): Promise<FoundRecords> {
    const ranked = await this.hits(words, { limit: Number.POSITIVE_INFINITY, prefix });
    const from = after === undefined ? undefined : openPlace(after, ["string", "number"]);
    const order = from?.order ?? (ranked.length > RANKED ? "newest" : "best");
    const sorted = order === "best" ? ranked : ranked.toSorted(newestFirst);
    const [thread, seq] = from?.parts ?? [];
    const start = sorted.findIndex(({ threadId, entry }) => threadId === thread && entry.seq === seq) + 1;
    const hits = sorted.slice(start, start + limit).map((hit) => ({
      ...hit,
      place: placeOf(order, hit.threadId, hit.entry.seq),
    }));
    return { hits, order };
  }

  /** Best first. */
  async hits(words: readonly string[], { limit, prefix = "" }: SearchRange): Promise<readonly SearchHit[]> {
    const hits: SearchHit[] = [];
    for (const { threadId, record } of await this.everyRecord()) {
      if (!threadId.startsWith(prefix)) continue;
      const said = (record.words ?? "").split(" ");
      const counts = words.map((word) => said.filter((candidate) => candidate.startsWith(word)).length);
      const score = counts.includes(0) ? 0 : counts.reduce((sum, count) => sum + count, 0) / said.length;
      if (score > 0) hits.push({ threadId, entry: record, score });
    }
    return hits.sort((a, b) => b.score - a.score).slice(0, limit);
  }

  override async queryMetadata(key: string, valueJson: string, options: MetadataRange): Promise<Threads> {
    return this.threadsWhere(options, ({ head }) => {
      const metadata = JSON.parse(head.metadata ?? "{}") as Record<string, unknown>;
      return Object.hasOwn(metadata, key) && JSON.stringify(metadata[key]) === valueJson;
    });
  }

  override subscribe(threadId: string, onChange: () => void): () => void {
    return this.#inner.subscribe(threadId, onChange);
  }

  classify(): ErrorCode | undefined {
    return undefined;
  }

  async close(): Promise<void> {
    this.#trouble = "closed";
    await this.#inner.close();
  }

  /** A page of the threads that pass `test`, found by walking over all of them. */
  async threadsWhere(
    { cursor, limit, prefix = "" }: MetadataRange,
    test: (thread: ThreadEntry) => boolean,
  ): Promise<Threads> {
    const all = await this.#reach().listThreads({ prefix, limit: Number.POSITIVE_INFINITY });
    const matches = all.items
      .filter(isReadable)
      .filter((thread) => test(thread) && (cursor === undefined || thread.threadId > cursor));
    const items = matches.slice(0, limit);
    return { items, cursor: matches.length > limit ? items.at(-1)?.threadId : undefined };
  }

  async everyRecord(): Promise<readonly { threadId: string; record: LogRecord }[]> {
    const all = await this.#reach().listThreads({ prefix: "", limit: Number.POSITIVE_INFINITY });
    const found: { threadId: string; record: LogRecord }[] = [];
    for (const { threadId } of all.items.filter(isReadable)) {
      const records = new Map<number, LogRecord>();
      for (const { checkpointId = "" } of await this.#reach().list(threadId, { limit: Number.POSITIVE_INFINITY })) {
        const chain = await this.#reach().readCheckpoint(threadId, checkpointId);
        for (const record of chain?.records ?? []) records.set(record.seq, record);
      }
      for (const record of records.values()) found.push({ threadId, record });
    }
    return found;
  }

  #reach(): ThreadLog {
    if (this.#trouble !== undefined) throw new Error(this.#trouble);
    return this.#inner;
  }
}
