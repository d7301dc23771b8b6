import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { recordsIn, replacedNothing } from "../log/driver-rules.ts";
import type { AppendRequest, LogEntry, LogRecord } from "../log/thread-log.ts";
import { bodyName, MOST_STALE, namedAfter, newRandomName, pageName, piecesOf, RECORDS_IN_DOCUMENT } from "./layout.ts";
import { type Merge, neighboursToMerge, newestToMerge } from "./merging.ts";
import { bodyBytes, entryOf, type StoredRecord } from "./stored-object.ts";
import {
  documentOf,
  finishedThread,
  type OtherLife,
  type StoredPage,
  type StoredThread,
  tailOf,
} from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";
import { type Life, namesOf, type PagePart, type Part, type ThreadStore } from "./thread-store.ts";

export interface PlannedAppend {
  /** Written before the commit. */
  readonly parts: readonly Part[];
  readonly next: StoredThread;
}

// Bodies that stay in memory for the next append are copied: callers must not hold bytes that are kept here.

/**
 * The first records are in the document, also those that are too large for a later one: nothing may exist in
 * a life before a document refers to it. Where the bucket takes no document of that
 * size, the life is announced before its parts are written.
 */
export async function planFirst(store: ThreadStore, threadId: string, request: AppendRequest): Promise<PlannedAppend> {
  const begun: StoredThread = {
    life: newRandomName(),
    generation: request.expected.generation,
    floor: 1,
    swept: 1,
    pages: [],
    recent: [],
    toDelete: [],
    stale: [],
    pending: [],
  };
  const recent = recordsIn(request).map((record) => ({
    entry: entryOf(record),
    body: { inline: Buffer.from(record.body) },
  }));
  const next = { ...begun, recent };
  if (store.fits(documentOf(threadId, { thread: next }))) return { parts: [], next };
  return planAppend(store, { threadId, life: begun.life }, begun, request);
}

/** The thread with the records and edits of the request, once `thread` is cleaned up. Writes nothing. */
export async function planAppend(
  store: ThreadStore,
  life: Life,
  thread: StoredThread,
  request: AppendRequest,
): Promise<PlannedAppend> {
  return new AppendPlan(store, life, thread, request).make();
}

class AppendPlan {
  readonly #store: ThreadStore;
  readonly #life: Life;
  readonly #reader: ThreadReader;
  readonly #thread: StoredThread;
  readonly #records: readonly LogRecord[];
  readonly #floor: number;
  readonly #drop: ReadonlySet<number>;
  readonly #replace: ReadonlyMap<number, LogRecord>;
  readonly #parts: Part[] = [];
  readonly #toDelete: string[] = [];
  /** Pages that were merged. */
  readonly #stale: string[];
  /** Pages still to be written, with their content. A page that is merged first is never written. */
  readonly #unwritten = new Map<StoredPage, PagePart>();

  constructor(store: ThreadStore, life: Life, thread: StoredThread, request: AppendRequest) {
    const { drop = [], replace = [], dropBelow = 0 } = request;
    this.#store = store;
    this.#life = life;
    this.#reader = new ThreadReader(store, life.threadId, thread);
    this.#thread = thread;
    this.#stale = [...thread.stale];
    this.#records = recordsIn(request);
    this.#floor = Math.max(thread.floor, dropBelow);
    this.#drop = new Set(drop);
    this.#replace = new Map(replace.map((other) => [other.seq, other]));
  }

  async make(): Promise<PlannedAppend> {
    const { pages: before, recent: held } = this.#thread;
    await this.#assertReplacedAreThere();
    const [kept, below] = [
      before.filter(({ last }) => last >= this.#floor),
      before.filter(({ last }) => last < this.#floor),
    ];
    const isLeftToSweep = below.length > 0 && this.#store.lists;
    if (!isLeftToSweep) {
      for (const page of below) this.#toDelete.push(...(await this.#reader.partsOf(page)));
    }
    let pages = (await this.#edited(kept)).filter((page) => page !== undefined);
    let recent = this.#editedRecords(held).map((record) => this.#pushedOut(record));
    if (this.#isFull(held) && hasRecords(recent)) {
      pages = await this.#merged([...pages, this.#closed(recent)]);
      recent = [];
    }
    recent = [...recent, ...this.#records.map((record) => this.#stored(record))];
    const changed: StoredThread = {
      ...finishedThread(this.#thread),
      floor: this.#floor,
      // Only the pages themselves know which large bodies lie below the floor, and these pages go as a
      // whole: a sweep finds the bodies.
      swept: isLeftToSweep ? this.#thread.swept : this.#floor,
      pages,
      recent,
      pending: [],
      ...this.#deletions(pages),
    };
    const next = await this.#fitted(changed);
    for (const page of next.pages) {
      const planned = this.#unwritten.get(page);
      if (planned !== undefined) this.#parts.push(planned);
    }
    return { parts: this.#parts, next };
  }

  /** What is to be deleted at once, and what may wait. With an edit nothing waits: what it takes out may be in a page that was merged. */
  #deletions(pages: readonly StoredPage[]): Pick<StoredThread, "toDelete" | "stale"> {
    const isEdit = this.#drop.size + this.#replace.size > 0 || this.#floor > this.#thread.floor;
    const written = pages.map((page) => this.#unwritten.get(page)).filter((part) => part !== undefined);
    const writes = [...this.#parts, ...written];
    const names = new Set(writes.flatMap(namesOf));
    const inVain = this.#thread.pending.filter((name) => !names.has(name));
    const isFree = isEdit || this.#stale.length > MOST_STALE;
    const most = isFree ? this.#stale.length : Math.max(0, this.#store.sizes.partsPerSave - writes.length);
    return { toDelete: [...this.#toDelete, ...inVain, ...this.#stale.slice(0, most)], stale: this.#stale.slice(most) };
  }

  #isFull(held: readonly StoredRecord[]): boolean {
    const bytes = held.reduce((sum, record) => sum + (record.body.inline === undefined ? 0 : bodyBytes(record)), 0);
    return held.length >= RECORDS_IN_DOCUMENT || bytes >= this.#store.sizes.documentRecords;
  }

  /** Records that are too many or too large for a document are on a page from the start, all but the tail. */
  async #fitted(thread: StoredThread): Promise<StoredThread> {
    const fits = (some: StoredThread): boolean =>
      this.#store.fits(documentOf(this.#life.threadId, { thread: some, over: MANY_LIVES }));
    const [older, tail] = [thread.recent.slice(0, -1), thread.recent.slice(-1)];
    if (fits(thread)) return thread;
    const pages = hasRecords(older)
      ? await this.#merged([...thread.pages, this.#planned(newRandomName(), older)])
      : thread.pages;
    const paged = { ...thread, pages, recent: tail, ...this.#deletions(pages) };
    if (fits(paged)) return paged;
    const list = this.#store.listPart(this.#life, paged.toDelete);
    const listed = { ...paged, toDelete: piecesOf(list.name, list.pieces.length) };
    if (!fits(listed)) throw tooLarge();
    this.#parts.push(list);
    return listed;
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
    this.#toDelete.push(...piecesOf(pageName(page), page.pieces));
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
    const fewer = await this.#inOne(pages, newestToMerge(pages, this.#store.sizes));
    return this.#inOne(fewer, neighboursToMerge(fewer));
  }

  async #inOne(pages: readonly StoredPage[], merge: Merge | undefined): Promise<StoredPage[]> {
    if (merge === undefined) return [...pages];
    const { from, count } = merge;
    const records: StoredRecord[] = [];
    for (const page of pages.slice(from, from + count)) {
      const planned = this.#unwritten.get(page);
      records.push(...(planned?.records ?? (await this.#reader.onPage(page))));
      if (planned === undefined) this.#stale.push(...piecesOf(pageName(page), page.pieces));
    }
    const merged = hasRecords(records) ? [this.#planned(newRandomName(), records)] : [];
    return [...pages.slice(0, from), ...merged, ...pages.slice(from + count)];
  }

  #planned(suffix: string, records: readonly [StoredRecord, ...StoredRecord[]]): StoredPage {
    const part = this.#store.pagePart(this.#life, suffix, records);
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
        this.#toDelete.push(...piecesOf(bodyName(seq, record.body.suffix), record.body.pieces));
      }
      if (!goes) kept.push(replacement === undefined ? record : this.#stored(replacement));
    }
    return kept;
  }

  /** A new record: its content is not certain before the commit, so the name of a large body is used only once. */
  #stored(record: LogRecord): StoredRecord {
    const { body } = record;
    const entry = entryOf(record);
    if (body.byteLength <= this.#store.sizes.inlineBody) return { entry, body: { inline: Buffer.from(body) } };
    return this.#apart(entry, newRandomName(), body);
  }

  /** The first records may be in the document with large bodies; those must not be rewritten at every save. */
  #pushedOut(record: StoredRecord): StoredRecord {
    const { entry, body } = record;
    if (body.inline === undefined || body.inline.byteLength <= this.#store.sizes.inlineBody) return record;
    return this.#apart(entry, namedAfter(entry.writeId), body.inline);
  }

  #apart(entry: LogEntry, suffix: string, body: Uint8Array): StoredRecord {
    const part = this.#store.bodyPart(this.#life, entry.seq, suffix, body);
    this.#parts.push(part);
    return { entry, body: { ...part.place, inline: undefined } };
  }
}

/** Room for what a document says beside the thread. */
const MANY_LIVES: readonly OtherLife[] = Array.from({ length: 40 }, () => ({ life: "0123456789abcdef" }));

const tooLarge = (): StateError =>
  new StateError(
    "TOO_LARGE",
    "the metadata of this record, or what is listed of its thread, does not fit into one object of this storage; save less metadata, or vacuum the thread",
  );

const hasRecords = (records: readonly StoredRecord[]): records is readonly [StoredRecord, ...StoredRecord[]] =>
  records.length > 0;
