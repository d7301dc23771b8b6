import type { CheckpointContext } from "../checkpoint/context.ts";
import { metadataOf } from "../checkpoint/find/summary.ts";
import { isReadable } from "../checkpoint/log/listed-threads.ts";
import type { ListedThread, ThreadEntry, UnreadableThread } from "../checkpoint/log/thread-log.ts";
import { isGraphs, openHeader } from "../checkpoint/record/record.ts";
import { Warnings } from "../driver/warnings.ts";
import { StateError } from "../errors.ts";
import { cutAt } from "./answers/cut.ts";
import { jsonText } from "./answers/value-tree.ts";
import type { ThreadRow, WalkProgress } from "./api.ts";

/** Beyond this a list in memory is no longer the way to look at a store. */
const MOST_THREADS = 200_000;
const PAGE = 1000;
/** Where listing costs a read for each thread, the walk stops here until more is asked for. */
const UNASKED_ON_SCANS = 2000;
const SHORTEST_REST_MS = 4000;

export interface IndexOptions {
  readonly now: () => number;
  /** Whether the storage reads threads to list them: then nothing is walked unasked beyond the first. */
  readonly isScan: boolean;
  readonly onFailure: (error: unknown) => void;
}

/** How rows are sorted; the same function each time. */
export type Order = (a: ThreadRow, b: ThreadRow) => number;

/**
 * The heads of all threads, for sorting, filters and the tree of forks. Storages list
 * in an order of their own and have no total, so all heads are walked once in the
 * background, and again some time after the list is next viewed. Every answer that
 * rests on it says how far it has come.
 */
export class ThreadIndex {
  readonly #context: CheckpointContext;
  readonly #options: IndexOptions;
  #rows = new Map<string, ThreadRow>();
  /** Threads that cannot be read and whose ids cannot be told. */
  #unnamed = new Warnings();
  /** Grows with every change of the rows. */
  #version = 0;
  readonly #sorted = new Map<Order, { readonly version: number; readonly rows: readonly ThreadRow[] }>();
  #walking: Promise<void> | undefined;
  #isComplete = false;
  #isPaused = false;
  #allowed: number;
  #failed: string | undefined;
  #restUntil = 0;
  #isClosed = false;
  #tellFirstPage: () => void = () => undefined;
  readonly #firstPage: Promise<void> = new Promise((resolve) => {
    this.#tellFirstPage = resolve;
  });

  constructor(context: CheckpointContext, options: IndexOptions) {
    this.#context = context;
    this.#options = options;
    this.#allowed = options.isScan ? UNASKED_ON_SCANS : MOST_THREADS;
  }

  get rows(): Iterable<ThreadRow> {
    return this.#rows.values();
  }

  /** All rows in this order. Sorted once for as long as nothing changes: typing in a filter asks at every key. */
  inOrder(order: Order): readonly ThreadRow[] {
    const known = this.#sorted.get(order);
    if (known?.version === this.#version) return known.rows;
    const rows = [...this.#rows.values()].sort(order);
    this.#sorted.set(order, { version: this.#version, rows });
    return rows;
  }

  row(threadId: string): ThreadRow | undefined {
    return this.#rows.get(threadId);
  }

  get progress(): WalkProgress {
    return {
      read: this.#rows.size,
      complete: this.#isComplete,
      // A request for more is waiting for it already, so the page need not offer the
      // button again.
      paused: this.#isPaused && this.#rows.size >= this.#allowed,
      ...(this.#failed !== undefined && { failed: this.#failed }),
      ...(this.#unnamed.count > 0 && {
        unnamed: this.#unnamed.count,
        unnamedFirst: this.#unnamed.list[0]?.message ?? "",
      }),
    };
  }

  /** Begins a walk unless one is under way or was made just now. Resolves when there is something to show. */
  async look({ readOn = false }: { readonly readOn?: boolean } = {}): Promise<void> {
    if (readOn && this.#isPaused) {
      this.#allowed = Math.min(this.#allowed * 10, MOST_THREADS);
      this.#restUntil = 0;
    }
    const isDue = this.#options.now() >= this.#restUntil;
    if (this.#walking === undefined && isDue && !this.#isClosed) {
      const begun = this.#walk().finally(() => {
        this.#walking = undefined;
      });
      this.#walking = begun;
    }
    // A first request waits for a first page; a later one is answered at once from what has
    // been read.
    if (this.#rows.size === 0 && !this.#isComplete) await Promise.race([this.#walking, this.#firstPage]);
  }

  /** After a write of our own: the next look reads anew. */
  expire(): void {
    this.#restUntil = 0;
  }

  /** What is read of one thread just now takes the place of what was known. */
  renew(threadId: string, row: ThreadRow | undefined): void {
    if (JSON.stringify(this.#rows.get(threadId)) === JSON.stringify(row)) return;
    if (row === undefined) this.#rows.delete(threadId);
    else this.#rows.set(threadId, row);
    this.#version++;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#walking;
  }

  async #walk(): Promise<void> {
    const begun = this.#options.now();
    const rows = new Map<string, ThreadRow>();
    const unnamed = new Warnings();
    let isPaused = false;
    try {
      for await (const page of this.#pages()) {
        if (this.#isClosed) return;
        for (const thread of page) {
          if (isReadable(thread)) rows.set(thread.threadId, rowOf(thread));
          else if (thread.threadId !== undefined)
            rows.set(thread.threadId, unreadableRow(thread.threadId, thread.trouble));
          else unnamed.add({ threadId: undefined, ...thread.trouble });
        }
        // Shown as soon as it is more than was known; until a later walk is complete, what was known stays.
        if (rows.size > this.#rows.size && !this.#isComplete) this.#rows = rows;
        if (this.#rows === rows) this.#version++;
        this.#tellFirstPage();
        if (rows.size >= this.#allowed) {
          isPaused = true;
          break;
        }
      }
      this.#rows = rows;
      this.#unnamed = unnamed;
      this.#version++;
      this.#isPaused = isPaused;
      this.#isComplete = !isPaused;
      this.#failed = undefined;
    } catch (error) {
      this.#failed = error instanceof Error ? error.message : String(error);
      this.#options.onFailure(error);
    }
    this.#tellFirstPage();
    const took = this.#options.now() - begun;
    // The larger the store, the longer the pause: looking must not be a load of its own.
    this.#restUntil = this.#failed === undefined ? this.#options.now() + Math.max(SHORTEST_REST_MS, 20 * took) : 0;
  }

  async *#pages(): AsyncGenerator<readonly ListedThread[]> {
    let cursor: string | undefined;
    do {
      const query = { prefix: "", limit: PAGE, ...(cursor !== undefined && { cursor }) };
      const found = await this.#context.call({ operation: "listThreads" }, (log) => log.listThreads(query));
      cursor = found.cursor;
      yield found.items;
    } while (cursor !== undefined);
  }
}

const CHIPS = 6;
const CHIP_LENGTH = 60;

/** What a list shows of a thread, from its head alone. A head that cannot be read is a row too. */
export function rowOf({ threadId, head }: ThreadEntry): ThreadRow {
  const checkpointId = head.checkpointId ?? "";
  try {
    const header = openHeader(head);
    const { forkedFrom, lease } = header.thread ?? {};
    return {
      threadId,
      checkpointId,
      lastAt: header.createdAt,
      messages: header.messageCount,
      loadBytes: header.chain.bytes,
      kind: isGraphs(header.thread) ? "graph" : "agent",
      metadata: Object.entries(metadataOf(head))
        .slice(0, CHIPS)
        .map(([key, value]) => [cutAt(key, CHIP_LENGTH), cutAt(jsonText(value), CHIP_LENGTH)] as const),
      ...(header.standing !== undefined && { standing: header.standing }),
      ...(forkedFrom !== undefined && { forkedFrom }),
      ...(lease !== undefined &&
        lease.expiresAt > 0 && { heldBy: cutAt(lease.owner, CHIP_LENGTH), heldUntil: lease.expiresAt }),
    };
  } catch (error) {
    if (!StateError.is(error)) throw error;
    return { ...unreadableRow(threadId, error), checkpointId };
  }
}

const unreadableRow = (threadId: string, { code, message }: UnreadableThread["trouble"]): ThreadRow => ({
  threadId,
  checkpointId: "",
  kind: "agent",
  metadata: [],
  trouble: { code, message: cutAt(message, 300) },
});
