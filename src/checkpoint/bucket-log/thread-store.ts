import type { ObjectBucket } from "../../driver/object-bucket.ts";
import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { Recent } from "../../internal/recent.ts";
import { bodyName, type Layout, listName, newRandomName, pageName, piecesOf, type Sizes } from "./layout.ts";
import {
  type BodyPlace,
  damaged,
  inlineBodies,
  packObject,
  recordsFromJson,
  recordsToJson,
  type StoredRecord,
  type UnpackedObject,
  unpackObject,
} from "./stored-object.ts";
import { packDocument, type StoredPage, type ThreadDocument, unpackDocument } from "./thread-document.ts";

/** A thread's document at one moment. Without one, there is no thread and no trace of one. */
export interface FoundDocument {
  readonly document: ThreadDocument | undefined;
  readonly version: string | undefined;
}

export const NOTHING: FoundDocument = { document: undefined, version: undefined };

/**
 * A page or body that the document refers to and that is missing: the document has
 * changed since, or the part is lost.
 */
export class MissingPart extends Error {
  readonly part: string;

  constructor(part: string) {
    super(`${part} is missing`);
    this.part = part;
  }
}

/** Which life of which thread a part belongs to. */
export interface Life {
  readonly threadId: string;
  readonly life: string;
}

/** What is to be written within a life, as one object or several. */
export interface Part {
  readonly name: string;
  readonly pieces: readonly Buffer[];
}

/** Of its objects, within the life. */
export const namesOf = ({ name, pieces }: Part): readonly string[] => piecesOf(name, pieces.length);

export interface PagePart extends Part {
  readonly page: StoredPage;
  readonly records: readonly StoredRecord[];
}

/** A save under a name looks through all pages of its thread, and merging reads what was written before. */
const BYTES_OF_PAGES_KEPT = 16 * 1024 * 1024;
const DOCUMENTS_KEPT = 256;
/** A larger one is read again before the next append: hundreds of them would fill the memory. */
const LARGEST_KEPT_BYTES = 1024 * 1024;

/** The bucket in terms of the layout. */
export class ThreadStore {
  readonly bucket: ObjectBucket;
  readonly layout: Layout;
  readonly sizes: Sizes;
  /** Whether the bucket can be listed. */
  readonly lists: boolean;
  /** What this process wrote last: its next append to the same thread need not read it. */
  readonly #written = new Recent<FoundDocument>(DOCUMENTS_KEPT);
  /** The content under a page's name never changes, so a cached page is never outdated. */
  readonly #pages = new Recent<readonly StoredRecord[]>(BYTES_OF_PAGES_KEPT);

  constructor(bucket: ObjectBucket, layout: Layout, lists: boolean) {
    this.bucket = bucket;
    this.layout = layout;
    this.lists = lists;
    this.sizes = layout.sizes(bucket.maxObjectBytes);
  }

  async load(threadId: string): Promise<FoundDocument> {
    const name = this.layout.nameOf(threadId);
    const found = await this.loadNamed(name);
    const { threadId: inside = threadId } = found.document ?? {};
    if (inside === threadId) return found;
    throw damaged(this.layout.document(name), `holds the thread ${JSON.stringify(inside)}`);
  }

  /** For a walk, where the id is not known in advance. */
  async loadNamed(name: string): Promise<FoundDocument> {
    const object = this.layout.document(name);
    const found = await this.bucket.get(object);
    return found === undefined ? NOTHING : { document: unpackDocument(object, found.bytes), version: found.version };
  }

  /** What this process wrote last, once. It may be outdated; then a commit on it is refused. */
  takeWritten(threadId: string): FoundDocument | undefined {
    const known = this.#written.get(threadId);
    this.#written.delete(threadId);
    return known;
  }

  remember(threadId: string, found: FoundDocument): void {
    const bodies = inlineBodies(found.document?.thread?.recent ?? []);
    const bytes = bodies.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (bytes <= LARGEST_KEPT_BYTES) this.#written.set(threadId, found);
  }

  /** Replaces what was found by `next`; `undefined` if another writer was faster. */
  async commit({ version }: FoundDocument, next: ThreadDocument): Promise<FoundDocument | undefined> {
    const object = this.layout.document(this.layout.nameOf(next.threadId));
    try {
      const written = await this.bucket.put(object, packDocument(next), version);
      return written === undefined ? undefined : { document: next, version: written };
    } catch (error) {
      if (!this.bucket.mayHaveWritten(error)) throw error;
      const now = await this.load(next.threadId).catch(() => NOTHING);
      if (now.document?.revision === next.revision) return now;
      throw error;
    }
  }

  /**
   * Removes a document without content. It stays if it has changed, or if the
   * store has no conditional delete: an empty document is a few bytes, and
   * deleting it could take a new thread with it.
   */
  async discard(threadId: string, { version }: FoundDocument): Promise<void> {
    if (version !== undefined) await this.bucket.deleteIf(this.layout.document(this.layout.nameOf(threadId)), version);
  }

  /** Whether the bucket takes it as one object. */
  fits(document: ThreadDocument): boolean {
    const { maxObjectBytes } = this.bucket;
    return maxObjectBytes === Number.POSITIVE_INFINITY || packDocument(document).byteLength <= maxObjectBytes;
  }

  pagePart({ threadId, life }: Life, suffix: string, records: readonly [StoredRecord, ...StoredRecord[]]): PagePart {
    const [{ entry: first }] = records;
    const bytes = packObject({ threadId, life, records: recordsToJson(records) }, inlineBodies(records));
    const last = records.at(-1)?.entry.seq ?? first.seq;
    const pieces = this.#cut(bytes);
    const page = {
      ...{ first: first.seq, last, suffix, records: records.length, bytes: bytes.byteLength },
      ...(pieces.length > 1 && { pieces: pieces.length }),
    };
    return { name: pageName(page), pieces, page, records };
  }

  /** A body in objects of its own, and where it is then found. */
  bodyPart(
    { threadId, life }: Life,
    seq: number,
    suffix: string,
    body: Uint8Array,
  ): Part & { readonly place: BodyPlace } {
    const pieces = this.#cut(packObject({ threadId, life, seq }, [body]));
    const place = { suffix, bytes: body.byteLength, ...(pieces.length > 1 && { pieces: pieces.length }) };
    return { name: bodyName(seq, suffix), pieces, place };
  }

  listPart({ threadId, life }: Life, names: readonly string[]): Part {
    return { name: listName(newRandomName()), pieces: this.#cut(packObject({ threadId, life, names })) };
  }

  /** What a list names; nothing where it is gone, because it is deleted behind what it names. */
  async listedIn(life: Life, [list = "", ...rest]: readonly string[]): Promise<readonly string[]> {
    try {
      const { content } = await this.#readPart(life, this.#nameOf(life, list), 1 + rest.length);
      return content["names"] as readonly string[];
    } catch (error) {
      if (error instanceof MissingPart) return [];
      throw error;
    }
  }

  #cut(bytes: Buffer): readonly Buffer[] {
    const { maxObjectBytes } = this.bucket;
    if (bytes.byteLength <= maxObjectBytes) return [bytes];
    return Array.from({ length: Math.ceil(bytes.byteLength / maxObjectBytes) }, (_, index) =>
      bytes.subarray(index * maxObjectBytes, (index + 1) * maxObjectBytes),
    );
  }

  /** If a name is taken, an earlier attempt wrote the very same content: see rule 4 of the layout. */
  async writePart(life: Life, part: Part | PagePart): Promise<void> {
    const name = this.#nameOf(life, part.name);
    const pieces = [...part.pieces.entries()];
    const names = piecesOf(name, pieces.length);
    await inParallel(pieces, async ([index, bytes]) => this.bucket.put(names[index] ?? name, bytes, undefined));
    if ("page" in part) this.#pages.set(name, part.records, part.page.bytes);
  }

  deleteParts(life: Life, names: readonly string[]): Promise<void> {
    return this.deleteObjects(names.map((name) => this.#nameOf(life, name)));
  }

  async deleteObjects(names: readonly string[]): Promise<void> {
    await inParallel(names, (name) => this.bucket.delete(name));
  }

  async readPage(life: Life, page: StoredPage): Promise<readonly StoredRecord[]> {
    const name = this.#nameOf(life, pageName(page));
    const known = this.#pages.get(name);
    if (known !== undefined) return known;
    const { content, bodies } = await this.#readPart(life, name, page.pieces);
    const records = recordsFromJson(name, content["records"], bodies);
    if (records.length !== page.records) throw damaged(name, "holds another number of records than its thread says");
    this.#pages.set(name, records, page.bytes);
    return records;
  }

  async readBody(life: Life, { entry, body }: StoredRecord): Promise<Uint8Array> {
    if (body.inline !== undefined) return body.inline;
    const name = this.#nameOf(life, bodyName(entry.seq, body.suffix));
    const { bodies } = await this.#readPart(life, name, body.pieces);
    if (bodies.byteLength !== body.bytes) throw damaged(name, "is not as long as it was written");
    return bodies;
  }

  async #readPart(life: Life, name: string, count = 1): Promise<UnpackedObject> {
    const pieces = await inParallel(piecesOf(name, count), async (piece) => {
      const found = await this.bucket.get(piece);
      if (found === undefined) throw new MissingPart(piece);
      return found.bytes;
    });
    const [first] = pieces;
    const unpacked = unpackObject(name, pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces));
    const { threadId, life: inside } = unpacked.content;
    if (threadId !== life.threadId || inside !== life.life) throw damaged(name, "belongs to another thread");
    return unpacked;
  }

  #nameOf({ threadId, life }: Life, part: string): string {
    return `${this.layout.life(this.layout.nameOf(threadId), life)}${part}`;
  }
}

/** Returned by an attempt that was overtaken and must be repeated on the newest document. */
export const OVERTAKEN: unique symbol = Symbol("holdfast.bucket-log.overtaken");

const MOST_ATTEMPTS = 100;

/**
 * Works on the newest document until it is not overtaken. A missing part is
 * damage only if the document still refers to it.
 */
export async function untilNotOvertaken<T>(
  load: () => Promise<FoundDocument>,
  work: (found: FoundDocument) => Promise<T | typeof OVERTAKEN>,
): Promise<T> {
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const found = await load();
    try {
      const result = await work(found);
      if (result !== OVERTAKEN) return result;
    } catch (error) {
      if (!(error instanceof MissingPart)) throw error;
      const now = await load();
      if (now.document?.revision === found.document?.revision) throw damaged(error.part, "is missing");
    }
  }
  const message = `the thread did not hold still in ${MOST_ATTEMPTS} attempts: other processes change it all the time`;
  throw new StateError("UNAVAILABLE", message);
}
