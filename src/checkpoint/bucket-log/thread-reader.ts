import { StateError } from "../../errors.ts";
import { AT_ONCE, inParallel } from "../../internal/concurrency.ts";
import { carries, firstUnknown, MOST_BYTES_READ } from "../log/driver-rules.ts";
import type { KnownPlace, LogChain, LogEntry, LogRecord } from "../log/thread-log.ts";
import { bodyName, pageName, piecesOf } from "./layout.ts";
import { MOST_PAGES } from "./merging.ts";
import { bodyBytes, type StoredRecord } from "./stored-object.ts";
import { type StoredPage, type StoredThread, tailOf } from "./thread-document.ts";
import { type Life, MissingPart, type ThreadStore } from "./thread-store.ts";

/**
 * What a load asks for at once: every page that a thread may have, and those that are not merged yet. The AWS SDK has
 * 50 connections to a store and complains about requests that wait for one.
 */
const READS_AT_ONCE = MOST_PAGES + 8;

/** A thread as one document describes it. Reading a part that was deleted since fails as missing. */
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

  /** Every part of this life that the document knows of. One that is damaged or missing hides no other. */
  async parts(): Promise<readonly string[]> {
    const { pages, recent, toDelete, stale, pending } = this.#thread;
    const onPages = await inParallel(pages, (page) => this.partsOf(page), READS_AT_ONCE);
    return [...onPages.flat(), ...recent.flatMap(bodyNames), ...toDelete, ...stale, ...pending];
  }

  /** A page, and the bodies of its records that lie apart. */
  async partsOf(page: StoredPage): Promise<readonly string[]> {
    const records = await this.onPage(page).catch((error: unknown) => {
      if (error instanceof MissingPart || StateError.is(error, "CORRUPT")) return [];
      throw error;
    });
    return [...records.flatMap(bodyNames), ...piecesOf(pageName(page), page.pieces)];
  }

  /** The chain that ends at `target`. */
  chainTo({ base, seq }: LogEntry): Promise<LogChain> {
    return this.#chain(base, seq);
  }

  /**
   * The chain that ends at the tail, as far as it is newer than a place. Pages
   * with only older records are not read.
   */
  async chainSince(newerThan: KnownPlace | undefined): Promise<LogChain> {
    const { generation, tail } = this;
    const isBelow = newerThan !== undefined && newerThan.generation === generation && newerThan.seq < tail.seq;
    const known = isBelow ? await this.entryAt(newerThan.seq) : undefined;
    return this.#chain(firstUnknown({ generation, entry: tail }, newerThan, known), tail.seq);
  }

  /** All its pages at once, then all its large bodies at once. */
  async #chain(from: number, to: number): Promise<LogChain> {
    const { pages, recent } = this.#thread;
    const needed = pages.filter(({ first, last }) => last >= from && first <= to);
    const stored = [...(await inParallel(needed, (page) => this.onPage(page), READS_AT_ONCE)).flat(), ...recent];
    return this.#withBodies(stored.filter(({ entry }) => entry.seq >= from && entry.seq <= to));
  }

  /** The newest records below `before`, as many as `readRecords` returns at once. */
  async newest(before: number, limit: number): Promise<LogChain> {
    const found: StoredRecord[] = [];
    let bytes = 0;
    for await (const record of this.#storedDown(before, { records: limit, bytes: MOST_BYTES_READ })) {
      bytes += bodyBytes(record);
      if (found.length === limit || (bytes > MOST_BYTES_READ && found.length > 0)) break;
      found.push(record);
    }
    return this.#withBodies(found.reverse());
  }

  async #withBodies(stored: readonly StoredRecord[]): Promise<LogChain> {
    const whole = async (record: StoredRecord): Promise<LogRecord> => {
      // A copy: callers must not hold bytes that are kept here.
      const body = new Uint8Array(await this.bodyOf(record));
      return { ...record.entry, body, words: undefined };
    };
    const records = await inParallel(stored, whole, READS_AT_ONCE);
    return { generation: this.generation, tail: this.tail, records };
  }

  /** Entries with a checkpoint id, newest first, below `before`. Reads about as many pages ahead as `wanted` needs. */
  async *checkpointsDown(before: number, wanted: number): AsyncGenerator<LogEntry, void, undefined> {
    const ahead = { records: wanted, bytes: Number.POSITIVE_INFINITY };
    for await (const { entry } of this.#storedDown(before, ahead)) if (entry.checkpointId !== undefined) yield entry;
  }

  /** The newest record that carries the name. */
  async find(name: string): Promise<LogEntry | undefined> {
    const ahead = { records: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };
    for await (const { entry } of this.#storedDown(Number.POSITIVE_INFINITY, ahead)) {
      if (carries(entry, name)) return entry;
    }
    return undefined;
  }

  /** Every record below `before`, newest first. Reads pages ahead until they hold as much as `ahead` asks for. */
  async *#storedDown(before: number, ahead: Ahead): AsyncGenerator<StoredRecord, void, undefined> {
    const { pages, recent } = this.#thread;
    yield* below(recent, before);
    const left = pages.filter(({ first }) => first < before);
    while (left.length > 0) {
      const some: StoredPage[] = [];
      let [records, bytes] = [0, 0];
      do {
        const page = left.pop();
        if (page === undefined) break;
        some.unshift(page);
        records += page.records;
        bytes += page.bytes;
      } while (records < ahead.records && bytes < ahead.bytes && some.length < AT_ONCE);
      yield* below((await inParallel(some, (page) => this.onPage(page))).flat(), before);
    }
  }
}

/** How much is read at once. */
interface Ahead {
  readonly records: number;
  readonly bytes: number;
}

/** The objects of a body that lies apart. */
const bodyNames = ({ entry, body }: StoredRecord): readonly string[] =>
  body.inline === undefined ? piecesOf(bodyName(entry.seq, body.suffix), body.pieces) : [];

function* below(ascending: readonly StoredRecord[], before: number): Generator<StoredRecord, void, undefined> {
  for (const record of ascending.toReversed()) if (record.entry.seq < before) yield record;
}
