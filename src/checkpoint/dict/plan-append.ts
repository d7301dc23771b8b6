import { newId } from "../../driver/ids.ts";
import { replacedNothing } from "../log/driver-rules.ts";
import type { AppendRequest, LogRecord } from "../log/thread-log.ts";
import type { Documents } from "./documents.ts";
import { bodyKey, lastOfPage, type Placing, pageKey, pageOf } from "./layout.ts";
import {
  bodyPart,
  finishedThread,
  type PageContent,
  type Part,
  type StoredEntry,
  type StoredThread,
  storedBody,
  storedEntry,
} from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";

export interface PlannedAppend {
  /**
   * What the append pushes out of the document, written before it. It contains
   * nothing of the append itself, which may still be refused.
   */
  readonly pushedOut: readonly Part[];
  readonly next: StoredThread;
}

export function planFirst(request: AppendRequest): PlannedAppend {
  const placing = { incarnation: newId(), editedPages: [] };
  const { toWrite, ...newest } = addRecords(placing, [], request);
  const { generation } = request.expected;
  return { pushedOut: [], next: { ...placing, generation, ...newest, floor: 1, swept: 1, toWrite, toDelete: [] } };
}

/** The thread with the records and edits of the request, once `thread` is finished. Writes nothing. */
export async function planAppend(
  documents: Documents,
  thread: StoredThread,
  request: AppendRequest,
): Promise<PlannedAppend> {
  const { drop = [], dropBelow = 0 } = request;
  const { tail, tailBody } = thread;
  const onPage = [...thread.recent, tail];
  const isFull = lastOfPage(pageOf(tail.seq)) === tail.seq;
  const fullPage: PageContent = { page: pageOf(tail.seq), entries: onPage };
  const finished = finishedThread(thread);
  const floor = Math.max(thread.floor, dropBelow);
  const edits = new Edits(finished, request, floor);
  const reader = new ThreadReader(documents, thread);
  await assertReplacedAreThere(reader, request);
  const kept = isFull ? [] : edits.apply(onPage);
  for (const page of edits.touchedPages(isFull ? pageOf(tail.seq) : pageOf(tail.seq) - 1)) {
    const isNew = isFull && page === fullPage.page;
    edits.applyToPage(page, isNew ? onPage : await reader.entriesOn(page));
  }
  const { toWrite, ...newest } = addRecords(finished, kept, request);
  return {
    pushedOut: [
      ...(drop.includes(tail.seq) || tail.seq < floor ? [] : [bodyPart(thread, tail, tailBody)]),
      ...(isFull ? [{ key: pageKey(thread, fullPage.page), content: fullPage }] : []),
    ],
    next: {
      ...finished,
      ...newest,
      floor,
      editedPages: edits.editedPages(),
      toWrite: [...edits.toWrite, ...toWrite],
      toDelete: edits.toDelete,
    },
  };
}

async function assertReplacedAreThere(reader: ThreadReader, { replace = [] }: AppendRequest): Promise<void> {
  for (const { seq } of replace) if ((await reader.entryAt(seq)) === undefined) throw replacedNothing();
}

/**
 * Adds records to a page that is not full. The last of them is the tail. The
 * bodies of the others, and the pages they fill, stay in the document until it is
 * written: before that nobody else may see them, and each exists in one place
 * only.
 */
function addRecords(
  placing: Placing,
  onPage: readonly StoredEntry[],
  { record, more = [] }: AppendRequest,
): Pick<StoredThread, "tail" | "tailBody" | "recent" | "toWrite"> {
  const toWrite: Part[] = [];
  let [recent, tail] = [[...onPage], record];
  for (const next of more) {
    const entry = storedEntry(tail);
    const page = pageOf(entry.seq);
    recent.push(entry);
    toWrite.push(bodyPart(placing, entry, storedBody(tail.body)));
    if (lastOfPage(page) === entry.seq) {
      toWrite.push({ key: pageKey(placing, page), content: { page, entries: recent } });
      recent = [];
    }
    tail = next;
  }
  return { tail: storedEntry(tail), tailBody: storedBody(tail.body), recent, toWrite };
}

/** `replace`, `drop` and `dropBelow` of one append. What goes, and what replaces it, is recorded for later. */
class Edits {
  readonly toWrite: Part[] = [];
  readonly toDelete: string[] = [];
  readonly #thread: StoredThread;
  readonly #floor: number;
  readonly #version: number;
  readonly #drop: ReadonlySet<number>;
  readonly #replace: ReadonlyMap<number, LogRecord>;
  readonly #editedPages: Map<number, number>;

  constructor(thread: StoredThread, { record, drop = [], replace = [] }: AppendRequest, floor: number) {
    this.#thread = thread;
    this.#floor = floor;
    this.#version = record.seq;
    this.#drop = new Set(drop);
    this.#replace = new Map(replace.map((other) => [other.seq, other]));
    this.#editedPages = new Map(thread.editedPages);
  }

  /** Full pages with single records to replace or drop. Everything below the floor is swept page by page. */
  touchedPages(lastFull: number): number[] {
    const touched = [...this.#drop, ...this.#replace.keys()].filter((seq) => seq >= this.#floor).map(pageOf);
    return [...new Set(touched)].filter((page) => page <= lastFull);
  }

  applyToPage(page: number, entries: readonly StoredEntry[]): void {
    this.toDelete.push(pageKey(this.#thread, page));
    const content: PageContent = { page, entries: this.apply(entries) };
    this.#editedPages.set(page, this.#version);
    this.toWrite.push({ key: pageKey({ ...this.#thread, editedPages: this.editedPages() }, page), content });
  }

  apply(entries: readonly StoredEntry[]): StoredEntry[] {
    const kept: StoredEntry[] = [];
    for (const entry of entries) {
      const goes = entry.seq < this.#floor || this.#drop.has(entry.seq);
      const replacement = this.#replace.get(entry.seq);
      if (goes || replacement !== undefined) this.toDelete.push(bodyKey(this.#thread, entry));
      if (!goes) kept.push(replacement === undefined ? entry : this.#replaced(replacement));
    }
    return kept;
  }

  #replaced(record: LogRecord): StoredEntry {
    const entry = storedEntry(record, this.#version);
    this.toWrite.push(bodyPart(this.#thread, entry, storedBody(record.body)));
    return entry;
  }

  editedPages(): (readonly [number, number])[] {
    return [...this.#editedPages];
  }
}
