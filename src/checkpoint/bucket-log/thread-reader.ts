import { AT_ONCE, inParallel } from "../../internal/in-parallel.ts";
import type { LogChain, LogEntry, LogRecord } from "../thread-log.ts";
import type { StoredRecord } from "./stored-object.ts";
import { type StoredPage, type StoredThread, tailOf } from "./thread-document.ts";
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
  onPage(page: StoredPage): Promise<readonly StoredRecord[]> {
    return this.#store.readPage(this.#life, page);
  }

  async storedAt(seq: number): Promise<StoredRecord | undefined> {
    const { pages, recent } = this.#thread;
    const page = pages.find(({ first, last }) => first <= seq && seq <= last);
    const records = page === undefined ? recent : await this.onPage(page);
    return records.find(({ entry }) => entry.seq === seq);
  }

  async entryAt(seq: number): Promise<LogEntry | undefined> {
    return (await this.storedAt(seq))?.entry;
  }

  bodyOf(record: StoredRecord): Promise<Uint8Array> {
    return this.#store.readBody(this.#life, record);
  }

  /** The chain that ends at `target`: all its pages at once, then all its large bodies at once. */
  async chainTo(target: LogEntry): Promise<LogChain> {
    const { base, seq } = target;
    const { pages, recent } = this.#thread;
    const needed = pages.filter(({ first, last }) => last >= base && first <= seq);
    const stored = [...(await inParallel(needed, (page) => this.onPage(page))).flat(), ...recent];
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
    const { pages, recent } = this.#thread;
    yield* checkpointsIn(recent, before);
    const left = pages.filter(({ first }) => first < before);
    while (left.length > 0) {
      const some: StoredPage[] = [];
      for (let records = 0; records < wanted && some.length < AT_ONCE; ) {
        const page = left.pop();
        if (page === undefined) break;
        some.unshift(page);
        records += page.records;
      }
      yield* checkpointsIn((await inParallel(some, (page) => this.onPage(page))).flat(), before);
    }
  }

  async find(checkpointId: string): Promise<LogEntry | undefined> {
    const all = this.checkpointsDown(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    for await (const entry of all) if (entry.checkpointId === checkpointId) return entry;
    return undefined;
  }
}

function* checkpointsIn(ascending: readonly StoredRecord[], before: number): Generator<LogEntry, void, undefined> {
  for (const { entry } of ascending.toReversed()) {
    if (entry.checkpointId !== undefined && entry.seq < before) yield entry;
  }
}
