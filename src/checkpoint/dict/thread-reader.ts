import { inParallel } from "../../internal/concurrency.ts";
import { carries, MOST_BYTES_READ, newestWithin } from "../log/driver-rules.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { type Documents, MissingPart } from "./documents.ts";
import { bodyKey, pageKey, pageOf } from "./layout.ts";
import {
  type BodyContent,
  entryOf,
  type PageContent,
  recordOf,
  type StoredBody,
  type StoredEntry,
  type StoredThread,
} from "./thread-document.ts";

/** Reads the records of a thread as of one document. Throws `MissingPart` for a part that is gone. */
export class ThreadReader {
  readonly #documents: Documents;
  readonly #thread: StoredThread;
  /** Each page is read once: finding a checkpoint and reading its records need the same pages. */
  readonly #pages = new Map<number, Promise<readonly StoredEntry[]>>();

  constructor(documents: Documents, thread: StoredThread) {
    this.#documents = documents;
    this.#thread = thread;
  }

  /** From the newest to the oldest, below `before`. Fetches more pages at a time the further it goes. */
  async *entriesDown(before: number = Number.POSITIVE_INFINITY): AsyncGenerator<StoredEntry, void, undefined> {
    const { tail, recent, floor } = this.#thread;
    for (const entry of [...recent, tail].toReversed()) if (entry.seq < before) yield entry;
    let page = Math.min(pageOf(tail.seq), pageOf(before - 1) + 1) - 1;
    for (let count = 1; page >= pageOf(floor); count = Math.min(2 * count, 16)) {
      const pages = range(Math.max(pageOf(floor), page - count + 1), page).toReversed();
      for (const entries of await inParallel(pages, (number) => this.entriesOn(number))) {
        for (const entry of entries.toReversed()) if (entry.seq < before) yield entry;
      }
      page -= pages.length;
    }
  }

  /** In ascending order, the tail included. */
  async entriesFrom(seq: number): Promise<StoredEntry[]> {
    const { tail, recent, floor } = this.#thread;
    const pages = range(pageOf(Math.max(seq, floor)), pageOf(tail.seq) - 1);
    const older = await inParallel(pages, (page) => this.entriesOn(page));
    return [...older.flat(), ...recent, tail].filter((entry) => entry.seq >= seq);
  }

  async entryAt(seq: number): Promise<StoredEntry | undefined> {
    const { tail, recent, floor } = this.#thread;
    if (seq > tail.seq || seq < floor) return undefined;
    const entries = pageOf(seq) === pageOf(tail.seq) ? [...recent, tail] : await this.entriesOn(pageOf(seq));
    return entries.find((entry) => entry.seq === seq);
  }

  records(entries: readonly StoredEntry[]): Promise<LogRecord[]> {
    return inParallel(entries, async (entry) => recordOf(entry, await this.bodyOf(entry)));
  }

  /** The newest record that carries the name. */
  async find(name: string): Promise<StoredEntry | undefined> {
    for await (const entry of this.entriesDown()) if (carries(entryOf(entry), name)) return entry;
    return undefined;
  }

  /**
   * The newest records below `before`, as many as `readRecords` returns at once.
   * Only the body itself says how large it is.
   */
  async newest(before: number | undefined, limit: number): Promise<readonly LogRecord[]> {
    const found: LogRecord[] = [];
    let [waiting, bytes]: [StoredEntry[], number] = [[], 0];
    const readWaiting = async (): Promise<void> => {
      const records = await this.records(waiting);
      waiting = [];
      for (const record of records) bytes += record.body.byteLength;
      found.unshift(...records.reverse());
    };
    for await (const entry of this.entriesDown(before)) {
      if (found.length + waiting.length >= limit || bytes > MOST_BYTES_READ) break;
      // As many at once as were small enough before, up to a few.
      if (waiting.push(entry) > Math.min(found.length, 15)) await readWaiting();
    }
    await readWaiting();
    return newestWithin(found, limit);
  }

  /** The records of a full page, without the dropped ones. */
  entriesOn(page: number): Promise<readonly StoredEntry[]> {
    const reading = this.#pages.get(page) ?? this.#readPage(page);
    this.#pages.set(page, reading);
    return reading;
  }

  async bodyOf(entry: StoredEntry): Promise<StoredBody> {
    if (entry.seq === this.#thread.tail.seq) return this.#thread.tailBody;
    const { body } = (await this.#part(bodyKey(this.#thread, entry))) as BodyContent;
    return body;
  }

  async #readPage(page: number): Promise<readonly StoredEntry[]> {
    const { entries } = (await this.#part(pageKey(this.#thread, page))) as PageContent;
    return entries.filter(({ seq }) => seq >= this.#thread.floor);
  }

  async #part(key: string): Promise<BodyContent | PageContent> {
    const waiting = this.#thread.toWrite.find((part) => part.key === key);
    const content = waiting?.content ?? (await this.#documents.readPart(key));
    if (content === undefined) throw new MissingPart(key);
    return content;
  }
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
