import { inParallel } from "../../internal/concurrency.ts";
import { recordsIn, replacedNothing } from "../log/driver-rules.ts";
import type { AppendRequest, LogRecord } from "../log/thread-log.ts";
import { bodyName, INLINE_BODY_BYTES, namedAfter, newRandomName, pageName, RECORDS_IN_DOCUMENT } from "./layout.ts";
import { type Merge, neighboursToMerge, newestToMerge } from "./merging.ts";
import { entryOf, type StoredRecord } from "./stored-object.ts";
import { finishedThread, type StoredPage, type StoredThread, tailOf } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";
import { bodyPart, type Life, type PagePart, type Part, pagePart, type ThreadStore } from "./thread-store.ts";

export interface PlannedAppend {
  /** Written before the commit. */
  readonly parts: readonly Part[];
  readonly next: StoredThread;
}

// Bodies that stay in memory for the next append are copied: nobody outside may hold bytes that are kept here.

/**
 * The first records are in the document whatever their size: nothing may exist in
 * a life before a document refers to it.
 */
export const planFirst = (request: AppendRequest): StoredThread => ({
  life: newRandomName(),
  generation: request.expected.generation,
  floor: 1,
  swept: 1,
  pages: [],
  recent: recordsIn(request).map((record) => ({
    entry: entryOf(record),
    body: { inline: Buffer.from(record.body) },
  })),
  toDelete: [],
});

/** The thread with the records and edits of the request, once `thread` is cleaned up. Writes nothing. */
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
  readonly #records: readonly LogRecord[];
  readonly #floor: number;
  readonly #drop: ReadonlySet<number>;
  readonly #replace: ReadonlyMap<number, LogRecord>;
  readonly #parts: Part[] = [];
  readonly #toDelete: string[] = [];
  /** Pages still to be written, with their content. A page that is merged first is never written. */
  readonly #unwritten = new Map<StoredPage, PagePart>();

  constructor(life: Life, reader: ThreadReader, thread: StoredThread, request: AppendRequest) {
    const { drop = [], replace = [], dropBelow = 0 } = request;
    this.#life = life;
    this.#reader = reader;
    this.#thread = thread;
    this.#records = recordsIn(request);
    this.#floor = Math.max(thread.floor, dropBelow);
    this.#drop = new Set(drop);
    this.#replace = new Map(replace.map((other) => [other.seq, other]));
  }

  async make(): Promise<PlannedAppend> {
    const { pages: before, recent: held } = this.#thread;
    await this.#assertReplacedAreThere();
    const kept = before.filter(({ last }) => last >= this.#floor);
    let pages = (await this.#edited(kept)).filter((page) => page !== undefined);
    let recent = this.#editedRecords(held).map((record) => this.#pushedOut(record));
    if (held.length >= RECORDS_IN_DOCUMENT && hasRecords(recent)) {
      pages = await this.#merged([...pages, this.#closed(recent)]);
      recent = [];
    }
    for (const page of pages) {
      const planned = this.#unwritten.get(page);
      if (planned !== undefined) this.#parts.push(planned);
    }
    const next: StoredThread = {
      ...finishedThread(this.#thread),
      floor: this.#floor,
      // Only the pages themselves know which large bodies lie below the floor, and these pages go as a
      // whole: a sweep finds the bodies.
      swept: kept.length < before.length ? this.#thread.swept : this.#floor,
      pages,
      recent: [...recent, ...this.#records.map((record) => this.#stored(record))],
      toDelete: this.#toDelete,
    };
    return { parts: this.#parts, next };
  }

  async #assertReplacedAreThere(): Promise<void> {
    const wanted = [...this.#replace.keys()];
    if (wanted.length === 0) return;
    const { pages, recent } = this.#thread;
    const needed = pages.filter(({ first, last }) => wanted.some((seq) => seq >= first && seq <= last));
    const onPages = await inParallel(needed, (page) => this.#reader.onPage(page));
    const there = new Set([...onPages.flat(), ...recent].map(({ entry }) => entry.seq));
    if (!wanted.every((seq) => there.has(seq))) throw replacedNothing();
  }

  async #edited(pages: readonly StoredPage[]): Promise<readonly (StoredPage | undefined)[]> {
    const changed: (StoredPage | undefined)[] = [];
    for (const page of pages) changed.push(this.#isTouched(page) ? await this.#changedPage(page) : page);
    return changed;
  }

  #isTouched({ first, last }: Pick<StoredPage, "first" | "last">): boolean {
    if (first < this.#floor) return true;
    return [...this.#drop, ...this.#replace.keys()].some((seq) => seq >= first && seq <= last);
  }

  async #changedPage(page: StoredPage): Promise<StoredPage | undefined> {
    const records = this.#editedRecords(await this.#reader.onPage(page));
    this.#toDelete.push(pageName(page));
    return hasRecords(records) ? this.#planned(newRandomName(), records) : undefined;
  }

  /**
   * The document is full: its records move to a page. Records that were just
   * edited have more than one possible content.
   */
  #closed(records: readonly [StoredRecord, ...StoredRecord[]]): StoredPage {
    const { recent } = this.#thread;
    const [first, last] = [recent[0]?.entry.seq ?? 0, recent.at(-1)?.entry.seq ?? 0];
    const suffix = this.#isTouched({ first, last }) ? newRandomName() : namedAfter(tailOf(this.#thread).writeId);
    return this.#planned(suffix, records);
  }

  async #merged(pages: readonly StoredPage[]): Promise<StoredPage[]> {
    const fewer = await this.#inOne(pages, newestToMerge(pages));
    return this.#inOne(fewer, neighboursToMerge(fewer));
  }

  async #inOne(pages: readonly StoredPage[], merge: Merge | undefined): Promise<StoredPage[]> {
    if (merge === undefined) return [...pages];
    const { from, count } = merge;
    const records: StoredRecord[] = [];
    for (const page of pages.slice(from, from + count)) {
      const planned = this.#unwritten.get(page);
      records.push(...(planned?.records ?? (await this.#reader.onPage(page))));
      if (planned === undefined) this.#toDelete.push(pageName(page));
    }
    const merged = hasRecords(records) ? [this.#planned(newRandomName(), records)] : [];
    return [...pages.slice(0, from), ...merged, ...pages.slice(from + count)];
  }

  #planned(suffix: string, records: readonly [StoredRecord, ...StoredRecord[]]): StoredPage {
    const part = pagePart(this.#life, suffix, records);
    this.#unwritten.set(part.page, part);
    return part.page;
  }

  #editedRecords(records: readonly StoredRecord[]): readonly StoredRecord[] {
    const kept: StoredRecord[] = [];
    for (const record of records) {
      const { seq } = record.entry;
      const replacement = this.#replace.get(seq);
      const goes = seq < this.#floor || this.#drop.has(seq);
      if ((goes || replacement !== undefined) && record.body.inline === undefined) {
        this.#toDelete.push(bodyName(seq, record.body.suffix));
      }
      if (!goes) kept.push(replacement === undefined ? record : this.#stored(replacement));
    }
    return kept;
  }

  /** A new record: its content is not certain before the commit, so the name of a large body is used only once. */
  #stored(record: LogRecord): StoredRecord {
    const { seq, body } = record;
    const entry = entryOf(record);
    if (body.byteLength <= INLINE_BODY_BYTES) return { entry, body: { inline: Buffer.from(body) } };
    const suffix = newRandomName();
    this.#parts.push(bodyPart(this.#life, seq, suffix, body));
    return { entry, body: { inline: undefined, suffix, bytes: body.byteLength } };
  }

  /** The first records may be in the document with large bodies; those must not be rewritten at every save. */
  #pushedOut(record: StoredRecord): StoredRecord {
    const { entry, body } = record;
    if (body.inline === undefined || body.inline.byteLength <= INLINE_BODY_BYTES) return record;
    const suffix = namedAfter(entry.writeId);
    this.#parts.push(bodyPart(this.#life, entry.seq, suffix, body.inline));
    return { entry, body: { inline: undefined, suffix, bytes: body.inline.byteLength } };
  }
}

const hasRecords = (records: readonly StoredRecord[]): records is readonly [StoredRecord, ...StoredRecord[]] =>
  records.length > 0;
