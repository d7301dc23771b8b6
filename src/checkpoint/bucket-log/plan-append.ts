import type { AppendRequest, LogRecord } from "../thread-log.ts";
import { bodyName, firstOfPage, INLINE_BODY_BYTES, lastOfPage, newRandomName, pageName, pageOf } from "./layout.ts";
import { entryOf, type StoredRecord } from "./stored-object.ts";
import { type StoredThread, settledThread, tailOf } from "./thread-document.ts";
import { NO_RECORD_LEFT, ThreadReader } from "./thread-reader.ts";
import { bodyPart, type Life, type Part, pagePart, type ThreadStore } from "./thread-store.ts";

export interface PlannedAppend {
  /** To be written before the commit. */
  readonly parts: readonly Part[];
  readonly next: StoredThread;
}

// Bodies are copied where they stay in memory for the next append: nobody outside may hold bytes that are kept here.

/** The first record lies in the document whatever its size: nothing may lie in a life before a document speaks of it. */
export const planFirst = ({ generation, record }: AppendRequest): StoredThread => ({
  life: newRandomName(),
  generation,
  floor: 1,
  swept: 1,
  changedPages: new Map(),
  recent: [{ entry: entryOf(record), body: { inline: Buffer.from(record.body) } }],
  toDelete: [],
});

/** The thread with one more record and the request's edits, once `thread` is settled. Writes nothing. */
export async function planAppend(
  store: ThreadStore,
  life: Life,
  thread: StoredThread,
  request: AppendRequest,
): Promise<PlannedAppend> {
  return new AppendPlan(life, new ThreadReader(store, life.threadId, thread), thread, request).make();
}

class AppendPlan {
  readonly #life: Life;
  readonly #reader: ThreadReader;
  readonly #thread: StoredThread;
  readonly #record: LogRecord;
  readonly #floor: number;
  readonly #drop: ReadonlySet<number>;
  readonly #replace: ReadonlyMap<number, LogRecord>;
  readonly #changedPages: Map<number, string>;
  readonly #parts: Part[] = [];
  readonly #toDelete: string[] = [];

  constructor(life: Life, reader: ThreadReader, thread: StoredThread, request: AppendRequest) {
    const { record, drop = [], replace = [], dropBelow = 0 } = request;
    this.#life = life;
    this.#reader = reader;
    this.#thread = thread;
    this.#record = record;
    this.#floor = Math.max(thread.floor, dropBelow);
    this.#drop = new Set(drop);
    this.#replace = new Map(replace.map((other) => [other.seq, other]));
    this.#changedPages = new Map(thread.changedPages);
  }

  async make(): Promise<PlannedAppend> {
    const tail = tailOf(this.#thread);
    const newestPage = pageOf(tail.seq);
    for (const page of this.#touchedPages(newestPage)) await this.#changePage(page);
    let recent = this.#edited(this.#thread.recent).map((record) => this.#pushedOut(record));
    if (tail.seq === lastOfPage(newestPage)) {
      this.#closePage(newestPage, recent);
      recent = [];
    }
    const [oldest, changed] = [pageOf(this.#floor), [...this.#changedPages]];
    const next: StoredThread = {
      ...settledThread(this.#thread),
      floor: this.#floor,
      changedPages: new Map(changed.filter(([page]) => page >= oldest)),
      recent: [...recent, this.#stored(this.#record)],
      toDelete: this.#toDelete,
    };
    return { parts: this.#parts, next };
  }

  /** Full pages on which something changes. Those that lie below the floor are swept as a whole. */
  #touchedPages(newestPage: number): readonly number[] {
    const touched = [...this.#drop, ...this.#replace.keys()].filter((seq) => seq >= this.#floor).map(pageOf);
    const atFloor = pageOf(this.#floor);
    if (this.#floor > Math.max(this.#thread.floor, firstOfPage(atFloor))) touched.push(atFloor);
    return [...new Set(touched)].filter((page) => page < newestPage);
  }

  async #changePage(page: number): Promise<void> {
    const before = await this.#reader.onPage(page);
    if (before.length === 0) return;
    this.#toDelete.push(pageName(page, this.#thread.changedPages.get(page) ?? ""));
    this.#writeChanged(page, this.#edited(before));
  }

  /** The newest page is full: it goes out of the document. */
  #closePage(page: number, records: readonly StoredRecord[]): void {
    if (records.length === 0 || this.#isTouched(this.#thread.recent)) this.#writeChanged(page, records);
    else this.#parts.push(pagePart(this.#life, page, "", records));
  }

  #isTouched(records: readonly StoredRecord[]): boolean {
    return records.some(({ entry: { seq } }) => this.#isDropped(seq) || this.#replace.has(seq));
  }

  #writeChanged(page: number, records: readonly StoredRecord[]): void {
    const suffix = records.length === 0 ? NO_RECORD_LEFT : newRandomName();
    this.#changedPages.set(page, suffix);
    if (records.length > 0) this.#parts.push(pagePart(this.#life, page, suffix, records));
  }

  #edited(records: readonly StoredRecord[]): readonly StoredRecord[] {
    const kept: StoredRecord[] = [];
    for (const record of records) {
      const { seq } = record.entry;
      const replacement = this.#replace.get(seq);
      const goes = this.#isDropped(seq);
      if ((goes || replacement !== undefined) && record.body.inline === undefined) {
        this.#toDelete.push(bodyName(seq, record.body.suffix));
      }
      if (!goes) kept.push(replacement === undefined ? record : this.#stored(replacement));
    }
    return kept;
  }

  #isDropped(seq: number): boolean {
    return seq < this.#floor || this.#drop.has(seq);
  }

  /** A record that is new: its content is not sure before the commit, so the name of a large body is used once. */
  #stored(record: LogRecord): StoredRecord {
    const { seq, body } = record;
    const entry = entryOf(record);
    if (body.byteLength <= INLINE_BODY_BYTES) return { entry, body: { inline: Buffer.from(body) } };
    const suffix = newRandomName();
    this.#parts.push(bodyPart(this.#life, seq, suffix, body));
    return { entry, body: { inline: undefined, suffix, bytes: body.byteLength } };
  }

  /** A first record may lie in the document with a large body; it must not be written again at every save. */
  #pushedOut(record: StoredRecord): StoredRecord {
    const { entry, body } = record;
    if (body.inline === undefined || body.inline.byteLength <= INLINE_BODY_BYTES) return record;
    this.#parts.push(bodyPart(this.#life, entry.seq, "", body.inline));
    return { entry, body: { inline: undefined, suffix: "", bytes: body.inline.byteLength } };
  }
}
