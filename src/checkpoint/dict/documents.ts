import { StateError } from "../../errors.ts";
import { Recent } from "../../internal/recent.ts";
import type { DictStorage } from "./dict-storage.ts";
import { inTurn } from "./in-turn.ts";
import { BODY_PREFIX, incarnationIn, PAGE_PREFIX, pageKey, pageOf, THREAD_PREFIX, threadKey } from "./layout.ts";
import { damaged, openData, sealData } from "./sealed-data.ts";
import type { BodyContent, PageContent, Part, StoredEntry, StoredThread, ThreadDocument } from "./thread-document.ts";

/** A thread's document at one moment, and the storage's own value of it, which a change is compared with. */
export interface FoundDocument {
  readonly key: string;
  readonly stored: object | undefined;
  readonly document: ThreadDocument | undefined;
}

/**
 * A page or body that the document refers to and that is missing: the document has
 * changed since, or the part is lost.
 */
export class MissingPart extends Error {
  readonly key: string;

  constructor(key: string) {
    super(`${key} is missing`);
    this.key = key;
  }
}

/** Returned by an attempt that was overtaken and must be repeated on the newest document. */
export const OVERTAKEN: unique symbol = Symbol("overtaken");

/** Enough for a thread of a thousand checkpoints: a save under a name looks through all of them. */
const PAGES_KEPT = 64;
const TAILS_KEPT = 1000;

/** The storage in terms of the layout. */
export class Documents {
  readonly #storage: DictStorage;
  /**
   * The most recently read pages, the latest last. The content under a page's key
   * never changes while the storage only goes forward: see `#keepOnlyPagesOf`.
   */
  readonly #pages = new Map<string, PageContent>();
  /** The newest record of each incarnation that was last seen. */
  readonly #tails = new Recent<Pick<StoredEntry, "seq" | "writeId">>(TAILS_KEPT);

  constructor(storage: DictStorage) {
    this.#storage = storage;
  }

  async load(threadId: string): Promise<FoundDocument> {
    const found = await this.#at(threadKey(threadId));
    const { threadId: inside = threadId } = found.document ?? {};
    if (inside !== threadId) throw damaged(found.key, `holds the thread ${JSON.stringify(inside)}`);
    return found;
  }

  async #at(key: string): Promise<FoundDocument> {
    const stored = (await this.#storage.load(key)) ?? undefined;
    const document = openData(key, stored) as ThreadDocument | undefined;
    if (document?.thread !== undefined) await this.#keepOnlyPagesOf(document.thread);
    return { key, stored, document };
  }

  /**
   * A storage may have been put back to an older state, where other writers filled
   * the same pages with other records. The record that was the newest when a page
   * was read tells: while it is in the thread, what was before it is as it was.
   */
  async #keepOnlyPagesOf(thread: StoredThread): Promise<void> {
    const { incarnation, tail } = thread;
    const seen = this.#tails.get(incarnation);
    if (seen?.writeId === tail.writeId && seen.seq === tail.seq) return;
    if (seen !== undefined && !(await this.#holds(thread, seen))) {
      for (const key of [...this.#pages.keys()]) if (incarnationIn(key) === incarnation) this.#pages.delete(key);
    }
    this.#tails.set(incarnation, tail);
  }

  async #holds(thread: StoredThread, { seq, writeId }: Pick<StoredEntry, "seq" | "writeId">): Promise<boolean> {
    const { tail, recent, toWrite } = thread;
    if (seq > tail.seq) return false;
    const newest = [...recent, tail].find((entry) => entry.seq === seq);
    if (newest !== undefined) return newest.writeId === writeId;
    const key = pageKey(thread, pageOf(seq));
    this.#pages.delete(key);
    const waiting = toWrite.find((part) => part.key === key)?.content;
    const page = (waiting ?? (await this.readPart(key))) as PageContent | undefined;
    return page?.entries.some((entry) => entry.seq === seq && entry.writeId === writeId) === true;
  }

  /**
   * Works on the newest document until it is not overtaken. A missing part is
   * damage only if the document still refers to it.
   */
  attempt<T>(threadId: string, work: (found: FoundDocument) => Promise<T | typeof OVERTAKEN>): Promise<T> {
    return untilNotOvertaken(() => this.load(threadId), work);
  }

  /** The same for listing, where the id is not known in advance. */
  attemptAt<T>(key: string, work: (found: FoundDocument) => Promise<T | typeof OVERTAKEN>): Promise<T> {
    return untilNotOvertaken(() => this.#at(key), work);
  }

  /**
   * Replaces `found` by `next`; false if another writer was faster. A document
   * without content is removed. Without `compareAndSave` this can overwrite
   * another process; `exclusively` at least keeps this process in order.
   */
  async commit(found: FoundDocument, next: ThreadDocument): Promise<boolean> {
    const { key, stored } = found;
    const data = isEmpty(next) ? undefined : sealData(key, next);
    if (this.#storage.compareAndSave !== undefined) {
      if ((await this.#storage.compareAndSave(key, stored, data)) === true) return true;
      if (sameDocument(found, await this.#at(key))) throw refusedWithoutReason(key);
      return false;
    }
    if (data === undefined) await this.#storage.delete(key);
    else await this.#storage.save(key, data);
    return true;
  }

  exclusively<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    return this.#storage.compareAndSave === undefined ? inTurn(this.#storage, threadKey(threadId), work) : work();
  }

  /** `undefined` if the key is absent. */
  async readPart(key: string): Promise<BodyContent | PageContent | undefined> {
    const known = this.#pages.get(key);
    const content = known ?? (openData(key, await this.#storage.load(key)) as BodyContent | PageContent | undefined);
    if (content !== undefined && "page" in content) this.#keep(key, content);
    return content;
  }

  #keep(key: string, page: PageContent): void {
    this.#pages.delete(key);
    this.#pages.set(key, page);
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > PAGES_KEPT && oldest !== undefined) this.#pages.delete(oldest);
  }

  async writePart(threadId: string, { key, content }: Part): Promise<void> {
    await this.#storage.save(key, sealData(key, { ...content, owner: threadKey(threadId) }));
  }

  /** The key of the document that pages and bodies belong to; `undefined` if they are gone. */
  async ownerOf(keys: readonly string[]): Promise<string | undefined> {
    for (const key of keys) {
      const content = openData(key, await this.#storage.load(key)) as { readonly owner?: unknown } | undefined;
      if (typeof content?.owner === "string" && content.owner.startsWith(THREAD_PREFIX)) return content.owner;
    }
    return undefined;
  }

  async deleteKey(key: string): Promise<void> {
    this.#pages.delete(key);
    await this.#storage.delete(key);
  }

  /** The keys of all threads behind `after`, in order. */
  async threadKeys(after: string): Promise<string[]> {
    const keys = await this.#list(THREAD_PREFIX);
    return [...keys].filter((key) => key > after).sort();
  }

  /** The keys of all pages and bodies, by incarnation. */
  async partKeys(): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = new Map<string, string[]>();
    for (const prefix of [PAGE_PREFIX, BODY_PREFIX]) {
      for (const key of await this.#list(prefix)) {
        const incarnation = incarnationIn(key);
        if (incarnation === undefined) continue;
        const keys = found.get(incarnation) ?? [];
        keys.push(key);
        found.set(incarnation, keys);
      }
    }
    return found;
  }

  /** The keys of one incarnation; empty if the storage cannot list. */
  async partKeysOf(incarnation: string): Promise<readonly string[]> {
    if (this.#storage.list === undefined) return [];
    const prefixes = [BODY_PREFIX, PAGE_PREFIX].map((prefix) => `${prefix}${incarnation}-`);
    return (await Promise.all(prefixes.map((prefix) => this.#list(prefix)))).flatMap((keys) => [...keys]);
  }

  async #list(prefix: string): Promise<ReadonlySet<string>> {
    const keys = new Set<string>();
    const listed = await this.#storage.list?.(prefix);
    if (typeof listed !== "object" || listed === null) throw notKeys();
    for await (const key of listed) {
      if (typeof key !== "string") throw notKeys();
      if (key.startsWith(prefix)) keys.add(key);
    }
    return keys;
  }
}

async function untilNotOvertaken<T>(
  load: () => Promise<FoundDocument>,
  work: (found: FoundDocument) => Promise<T | typeof OVERTAKEN>,
): Promise<T> {
  for (;;) {
    const found = await load();
    try {
      const result = await work(found);
      if (result !== OVERTAKEN) return result as T;
    } catch (error) {
      if (!(error instanceof MissingPart)) throw error;
      if (sameDocument(found, await load())) throw damaged(error.key, "is missing");
    }
  }
}

const isEmpty = ({ thread, copying, leftovers }: ThreadDocument): boolean =>
  thread === undefined && copying.length + leftovers.length === 0;

const sameDocument = (a: FoundDocument, b: FoundDocument): boolean => revisionOf(a) === revisionOf(b);

/** A document may start again, and incarnations with it, and a storage may be put back: the number alone does not identify it. */
function revisionOf({ document }: FoundDocument): string | undefined {
  if (document === undefined) return undefined;
  const names = [document.thread, ...document.copying, ...document.leftovers].map((part) => part?.incarnation);
  return `${document.revision} ${document.thread?.tail.writeId} ${names.join(" ")}`;
}

const notKeys = (): TypeError =>
  new TypeError("the storage's list() must return its keys as strings, in a list, an iterable or an async iterable");

const refusedWithoutReason = (key: string): StateError =>
  new StateError(
    "UNAVAILABLE",
    `the storage's compareAndSave refused a change of the key ${JSON.stringify(key)} though load still returns what was expected. It must compare by value, and load must see the latest save`,
    { location: key },
  );
