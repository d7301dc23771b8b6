import { AT_ONCE, inParallel } from "../../internal/in-parallel.ts";
import type { LogChain, LogEntry, LogRecord } from "../thread-log.ts";
import { pageOf, RECORDS_PER_PAGE } from "./layout.ts";
import type { StoredRecord } from "./stored-object.ts";
import { type StoredThread, tailOf } from "./thread-document.ts";
import type { Life, ThreadStore } from "./thread-store.ts";

/** A thread as one document has it. Reading a part that has since been deleted fails as missing. */
export class ThreadReader {
  readonly #store: ThreadStore;
  readonly #thread: StoredThread;
  readonly #life: Life;

  constructor(store: ThreadStore, threadId: string, thread: StoredThread) {
    this.#store = store;
    this.#thread = thread;
    this.#life = { threadId, life: thread.life };
  }

  get tail(): LogEntry {
    return tailOf(this.#thread);
  }

  get generation(): string {
    return this.#thread.generation;
  }

  /** The records on a page, ascending. */
  async onPage(page: number): Promise<readonly StoredRecord[]> {
    const { floor, changedPages, recent } = this.#thread;
    const newest = pageOf(this.tail.seq);
    if (page === newest) return recent;
    const suffix = changedPages.get(page);
    if (page > newest || page < pageOf(floor) || suffix === NO_RECORD_LEFT) return [];
    return this.#store.readPage(this.#life, page, suffix ?? "");
  }

  async storedAt(seq: number): Promise<StoredRecord | undefined> {
    return seq < 1 ? undefined : (await this.onPage(pageOf(seq))).find(({ entry }) => entry.seq === seq);
  }

  async entryAt(seq: number): Promise<LogEntry | undefined> {
    return (await this.storedAt(seq))?.entry;
  }

  bodyOf(record: StoredRecord): Promise<Uint8Array> {
    return this.#store.readBody(this.#life, record);
  }

  /** The chain that ends at `target`. */
  async chainTo(target: LogEntry): Promise<LogChain> {
    const { base, seq } = target;
    const pages = range(pageOf(base), pageOf(seq));
    const stored = (await inParallel(pages, (page) => this.onPage(page))).flat();
    const wanted = stored.filter(({ entry }) => entry.seq >= base && entry.seq <= seq);
    const records = await inParallel(wanted, async (record): Promise<LogRecord> => {
      // A copy: nobody outside may hold bytes that are kept here.
      const body = new Uint8Array(await this.bodyOf(record));
      return { ...record.entry, body, words: undefined };
    });
    return { generation: this.generation, tail: this.tail, records };
  }

  /** Entries that carry a checkpoint id, newest first, below `before`. Reads about as many pages ahead as `wanted` needs. */
  async *checkpointsDown(before: number, wanted: number): AsyncGenerator<LogEntry, void, undefined> {
    const ahead = Math.min(AT_ONCE, Math.ceil(wanted / RECORDS_PER_PAGE));
    const newest = pageOf(Math.min(before - 1, this.tail.seq));
    const oldest = pageOf(this.#thread.floor);
    for (let page = newest; page >= oldest; page -= ahead) {
      const some = range(Math.max(oldest, page - ahead + 1), page);
      const stored = (await inParallel(some, (each) => this.onPage(each))).flat();
      for (const { entry } of stored.toReversed()) {
        if (entry.checkpointId !== undefined && entry.seq < before) yield entry;
      }
    }
  }

  async find(checkpointId: string): Promise<LogEntry | undefined> {
    const all = this.checkpointsDown(Number.POSITIVE_INFINITY, AT_ONCE * RECORDS_PER_PAGE);
    for await (const entry of all) if (entry.checkpointId === checkpointId) return entry;
    return undefined;
  }
}

/** In place of a page's suffix. */
export const NO_RECORD_LEFT = "none";

/** From one number to another, both included. */
export const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
