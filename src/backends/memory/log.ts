import {
  assertAppend,
  carries,
  firstUnknown,
  isExpected,
  newestWithin,
  recordsIn,
  replacedNothing,
} from "../../checkpoint/log/driver-rules.ts";
import {
  type AppendOutcome,
  type AppendRequest,
  BaseThreadLog,
  type KnownPlace,
  type LogCapabilities,
  type LogChain,
  type LogEntry,
  type LogPage,
  type LogRecord,
  type ThreadEntry,
  type ThreadLog,
  type ThreadTail,
} from "../../checkpoint/log/thread-log.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import { type ErrorCode, StateError } from "../../errors.ts";

interface Thread {
  readonly generation: string;
  /** Ascending by position; never empty. Grows in place, so it is copied before it is returned. */
  readonly records: LogRecord[];
  expiresAt: number;
}

const CAPABILITIES: LogCapabilities = {
  durability: "memory",
  conditionalAppend: true,
  listThreads: true,
  ttl: true,
  maxRecordBytes: 64 * 1024 * 1024,
  maxChainRecords: Number.POSITIVE_INFINITY,
  subscribe: true,
};

/**
 * Threads in a Map. The reference driver: every duty of the contract in its simplest
 * form. Each method does all its work synchronously, which makes it atomic.
 */
export class MemoryLog extends BaseThreadLog implements ThreadLog {
  readonly name: string = "memory";
  readonly capabilities: LogCapabilities = CAPABILITIES;
  readonly #threads = new Map<string, Thread>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #now: () => number;
  #closed = false;

  constructor(options: { readonly now?: () => number } = {}) {
    super();
    this.#now = options.now ?? Date.now;
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    this.#assertOpen();
    const { generation, seq } = request.expected;
    const thread = this.#thread(threadId);
    if (!isExpected(tailOf(thread), request.expected)) {
      const own = thread?.generation === generation ? thread : undefined;
      const occupant = own?.records.find((other) => other.seq === seq + 1);
      return { appended: false, tail: thread?.records.at(-1), generation: thread?.generation, occupant };
    }
    const records = edited(thread?.records ?? [], request);
    records.push(...recordsIn(request).map(copyOf));
    const { ttlMs } = request;
    const expiresAt = ttlMs === undefined ? (thread?.expiresAt ?? Number.POSITIVE_INFINITY) : this.#now() + ttlMs;
    this.#threads.set(threadId, { generation, records, expiresAt });
    this.#announce(threadId);
    return { appended: true };
  }

  async readTail(threadId: string, { newerThan }: { newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    const thread = this.#thread(threadId);
    const tail = thread?.records.at(-1);
    if (thread === undefined || tail === undefined) return undefined;
    const there = thread.records.findLast(({ seq }) => seq === newerThan?.seq);
    return chainOf(thread, firstUnknown({ generation: thread.generation, entry: tail }, newerThan, there), tail);
  }

  async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    const thread = this.#thread(threadId);
    const target = thread?.records.findLast((record) => carries(record, name));
    if (thread === undefined || target === undefined) return undefined;
    return chainOf(thread, target.base, target);
  }

  async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    return this.#thread(threadId)?.records.findLast((record) => carries(record, name));
  }

  async readRecords(threadId: string, options: { before?: number; limit: number }): Promise<LogChain | undefined> {
    const thread = this.#thread(threadId);
    const tail = thread?.records.at(-1);
    if (thread === undefined || tail === undefined) return undefined;
    const { before = Number.POSITIVE_INFINITY, limit } = options;
    const older = thread.records.filter(({ seq }) => seq < before);
    return { generation: thread.generation, tail, records: copiesOf(newestWithin(older, limit)) };
  }

  async tail(threadId: string): Promise<ThreadTail | undefined> {
    const thread = this.#thread(threadId);
    const entry = thread?.records.at(-1);
    if (thread === undefined || entry === undefined) return undefined;
    const { generation, expiresAt } = thread;
    return { generation, entry, ...(Number.isFinite(expiresAt) && { ttlMs: expiresAt - this.#now() }) };
  }

  async list(threadId: string, options: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    const { before = Number.POSITIVE_INFINITY, limit } = options;
    const found: LogEntry[] = [];
    for (const record of (this.#thread(threadId)?.records ?? []).toReversed()) {
      if (found.length === limit) break;
      if (record.checkpointId !== undefined && record.seq < before) found.push(record);
    }
    return found;
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    const thread = this.#thread(threadId);
    if (thread === undefined) return "absent";
    if (ifTail !== undefined && !isExpected(tailOf(thread), ifTail)) return "moved";
    this.#threads.delete(threadId);
    this.#announce(threadId);
    return "removed";
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    const thread = this.#thread(source);
    if (thread === undefined) return "no source";
    if (this.#thread(target) !== undefined) return "target exists";
    this.#threads.set(target, { ...thread, records: [...thread.records], generation });
    this.#announce(target);
    return "copied";
  }

  override async listThreads(options: {
    prefix: string;
    cursor?: string;
    limit: number;
  }): Promise<LogPage<ThreadEntry>> {
    this.#assertOpen();
    const { prefix, cursor = "", limit } = options;
    const ids = [...this.#threads.keys()].filter((id) => id > cursor && id.startsWith(prefix)).sort();
    const items: ThreadEntry[] = [];
    for (const threadId of ids) {
      const head = this.#headOf(threadId);
      if (head === undefined) continue;
      if (items.length === limit) return { items, cursor: items.at(-1)?.threadId };
      items.push({ threadId, head });
    }
    return { items, cursor: undefined };
  }

  override subscribe(threadId: string, onChange: () => void): () => void {
    const listeners = this.#listeners.get(threadId) ?? new Set();
    this.#listeners.set(threadId, listeners.add(onChange));
    return () => {
      listeners.delete(onChange);
      if (listeners.size === 0) this.#listeners.delete(threadId);
    };
  }

  classify(): ErrorCode | undefined {
    return undefined;
  }

  override async scrub(): Promise<ScrubReport> {
    return { done: ["it is in memory only"], remains: [] };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#threads.clear();
  }

  #assertOpen(): void {
    if (this.#closed) throw new StateError("CLOSED", "the store was closed, and what it held is gone");
  }

  /** An expired thread is removed when it is next asked for; until then it is invisible. */
  #thread(threadId: string): Thread | undefined {
    this.#assertOpen();
    const thread = this.#threads.get(threadId);
    if (thread === undefined || thread.expiresAt > this.#now()) return thread;
    this.#threads.delete(threadId);
    return undefined;
  }

  #headOf(threadId: string): LogEntry | undefined {
    const records = this.#thread(threadId)?.records ?? [];
    const seq = records.at(-1)?.head;
    return records.findLast((record) => record.seq === seq);
  }

  #announce(threadId: string): void {
    for (const listener of this.#listeners.get(threadId) ?? []) listener();
  }
}

function tailOf(thread: Thread | undefined): ThreadTail | undefined {
  const entry = thread?.records.at(-1);
  return thread && entry && { generation: thread.generation, entry };
}

/** Returns the same list if nothing is edited: the cost of an append must not grow with the thread. */
function edited(records: LogRecord[], { replace = [], drop = [], dropBelow = 0 }: AppendRequest): LogRecord[] {
  if (replace.length === 0 && drop.length === 0 && dropBelow === 0) return records;
  const replacements = new Map(replace.map((record) => [record.seq, copyOf(record)]));
  const found = records.filter(({ seq }) => replacements.has(seq)).length;
  if (found < replacements.size) throw replacedNothing();
  return records
    .filter((record) => record.seq >= dropBelow && !drop.includes(record.seq))
    .map((record) => replacements.get(record.seq) ?? record);
}

const chainOf = (thread: Thread, from: number, target: LogRecord): LogChain => ({
  generation: thread.generation,
  tail: thread.records.at(-1) ?? target,
  records: copiesOf(recordsBetween(thread.records, from, target.seq)),
});

/** From the end, where a reader that knows most of the thread finds all it wants. */
function recordsBetween(records: readonly LogRecord[], from: number, to: number): readonly LogRecord[] {
  let first = records.length;
  while (first > 0 && (records[first - 1]?.seq ?? 0) >= from) first--;
  let end = records.length;
  while (end > first && (records[end - 1]?.seq ?? 0) > to) end--;
  return records.slice(first, end);
}

/** Callers must not hold bytes that are stored here. */
const copyOf = (record: LogRecord): LogRecord => withBody(record, Buffer.from(record.body));

/** Field by field, because every record of every load and save passes here. */
function withBody(record: LogRecord, body: Uint8Array): LogRecord {
  const { seq, writeId, base, head, checkpointId, metadata, header, words, names } = record;
  const copy = { seq, writeId, base, head, checkpointId, metadata, header, body, words };
  return names === undefined ? copy : { ...copy, names };
}

/** Pieces of memory of this size are quickly had; much larger ones come from the system, page by page. */
const PIECE_BYTES = 64 * 1024;

/** The same for many, which share pieces of memory: one for each would cost more than the copying. */
function copiesOf(records: readonly LogRecord[]): LogRecord[] {
  let left = records.reduce((bytes, { body }) => bytes + body.byteLength, 0);
  let piece = Buffer.alloc(0);
  let used = 0;
  return records.map((record) => {
    const { byteLength } = record.body;
    if (used + byteLength > piece.byteLength) {
      piece = Buffer.allocUnsafeSlow(Math.max(Math.min(PIECE_BYTES, left), byteLength));
      used = 0;
    }
    left -= byteLength;
    piece.set(record.body, used);
    used += byteLength;
    return withBody(record, piece.subarray(used - byteLength, used));
  });
}
