import { StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";

/**
 * How threads lie in a bucket.
 *
 *   <prefix>threads/user-42                                  one object for each thread, its "document"
 *   <prefix>records/user-42/6b1f22c09d7e4a31/                one life of that thread; the name is random
 *                                            0000000001-9c02…-page records 1 to 64
 *                                            0000000065-1d77…-page records 65 to 80
 *                                            0000000070-51be…-body the body of record 70, which is large
 *
 * A document holds the newest records, small bodies included: a save writes one
 * object, however many records it brings, and a load of a short thread reads
 * one. Once there are sixteen, the next save moves them to a page, which the
 * document lists; and pages that have become many are merged
 * (`merging.ts`), so that a long thread is a few objects as well, at most 40 of
 * them, all of which a load reads at once.
 *
 * Five rules make this safe between processes, without any lock:
 *
 * 1. Only documents ever change, and only by a PUT on condition that the version is
 *    the one that was read, or that there is no document. That PUT is the commit: of
 *    two writers one is refused, and nothing of its write can be seen. Unlike
 *    the creation of a numbered object, it is refused also after the number was
 *    deleted, or the whole thread: a late writer finds another version or none.
 * 2. Everything else is written once, before the commit that speaks of it, and
 *    never changed. So a reader that has a document has one moment of the thread.
 * 3. What a commit makes superfluous is named in the document and deleted after
 *    the commit; where that was interrupted, the next writer does it.
 * 4. What goes out of the document unchanged has one possible content as of the
 *    document's newest record: its name ends in a digest of that record's write
 *    id, so that attempts which find it written need not write it again. (Its
 *    number alone would not do: a bucket may be restored, and other records then
 *    get the same numbers.) Anything else, such as pages that were merged or
 *    changed, ends in a random suffix, so that two attempts never meet in one
 *    object.
 * 5. Nothing lies in a life that no document has spoken of. So a life that is
 *    seen first, and that the document read *afterwards* does not speak of, is
 *    over for ever and may be deleted.
 *
 * A bucket that cannot list is not searched for what a life holds: a document then names
 * the parts of every life that has ended or is under way, and those that an append is about to write.
 *
 * What is larger than the bucket's `maxObjectBytes` lies in several objects:
 * `…-body`, `…-body-1`, `…-body-2`. Documents never are: records that do not fit
 * into one are on pages from the start. A first save that is larger than a document
 * announces its life before it writes anything else, as a copy does.
 */

/** Written into every object. Older versions load for ever; a newer one is refused. */
export const OBJECT_FORMAT = 1;

/** How many records a document holds before they move to a page: each save rewrites them. */
export const RECORDS_IN_DOCUMENT = 16;

/** Sizes of what is written, by what the bucket takes in one object. A small limit goes with a price by the kilobyte, not by the request. */
export interface Sizes {
  /** A larger body gets its own object: documents are written at every save, and pages are read for a listing. */
  readonly inlineBody: number;
  /** Records of this size together move to a page, though they be few. */
  readonly documentRecords: number;
  /** A page of this size is left alone: editing one of its records rewrites all of it. */
  readonly fullPage: number;
  /**
   * How many parts a save writes or deletes beside its document, as far as it has the choice: pages that were merged
   * may wait to be deleted, because what they hold is in others. `Infinity` where such deletions cost nothing.
   */
  readonly partsPerSave: number;
}

/** The most pages that wait to be deleted. */
export const MOST_STALE = 16;

export const sizesFor = (maxObjectBytes: number): Sizes => ({
  inlineBody: Math.min(16 * 1024, maxObjectBytes / 96),
  documentRecords: maxObjectBytes / 48,
  fullPage: Math.min(2 * 1024 * 1024, maxObjectBytes * 0.6),
  partsPerSave: Number.POSITIVE_INFINITY,
});

/** A name may have 1024 bytes; what comes after the prefix needs up to 320. */
const MAX_PREFIX_BYTES = 400;
const PREFIX = /^(?:[A-Za-z0-9._~-]+\/)*$/;

/** What the names of all objects begin with: empty, or folders, each followed by a slash. */
export function checkedPrefix(prefix: string): string {
  const closed = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
  if (closed.length <= MAX_PREFIX_BYTES && PREFIX.test(closed)) return closed;
  const rule = `letters, digits and . _ ~ - between slashes, at most ${MAX_PREFIX_BYTES} in all`;
  throw new StateError("INVALID_ARGUMENT", `the option "prefix" takes ${rule}, as in "prod/"`);
}

/** Stores that keep objects as files take 255 bytes between two slashes, and some add names of their own to these. */
const LONGEST_NAME = 200;
const KEPT_OF_A_LONG_NAME = 130;

/**
 * The name of a thread's document and folder: the id itself, with unsafe
 * characters written as `~2F`. A long id is cut and followed by a hash. No plain
 * name contains `~~`, and each object contains the id, so that even a collision
 * would be noticed.
 */
export function threadName(threadId: string): string {
  const plain = escaped(threadId);
  if (plain.length <= LONGEST_NAME) return plain;
  const hash = nodeCrypto().createHash("sha256").update(threadId, "utf8").digest("hex");
  return `${beginning(plain)}~~${hash}`;
}

/** The id that a name is made of; `undefined` of a long one, whose name holds only a hash of it. */
export function idOfThreadName(name: string): string | undefined {
  try {
    const threadId = decodeURIComponent(name.replaceAll("~", "%"));
    return threadName(threadId) === name ? threadId : undefined;
  } catch {
    return undefined;
  }
}

/** The common beginning of the names of all threads whose ids begin with `prefix`. */
export const namePrefix = (prefix: string): string => beginning(escaped(prefix));

/** Short enough for every name, and not cut within a `~2F`. */
const beginning = (plain: string): string => plain.slice(0, KEPT_OF_A_LONG_NAME).replace(/~[0-9A-F]?$/, "");

function escaped(text: string): string {
  // Half a surrogate pair at the end of a prefix has no encoding yet.
  const whole = text.isWellFormed() ? text : text.slice(0, -1);
  return whole.replace(/[^A-Za-z0-9_-]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `~${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

const THREAD_NAME = /^(?:[A-Za-z0-9_-]|~[0-9A-F]{2})+(?:~~[0-9a-f]{64})?$/;
export const isThreadName = (name: string): boolean => THREAD_NAME.test(name);

/** Never used again: a late writer with an old name finds nothing that counts. */
export const newRandomName = (): string => nodeCrypto().randomBytes(8).toString("hex");

/** What has one possible content as of this write. */
export const namedAfter = (writeId: string): string =>
  nodeCrypto().createHash("sha256").update(writeId, "utf8").digest("hex").slice(0, 16);

/** Ten digits, so that names sort like records. */
export const numberName = (seq: number): string => String(seq).padStart(10, "0");
const withSuffix = (stem: string, suffix: string): string => (suffix === "" ? stem : `${stem}-${suffix}`);

/** A page is named after its first record. */
export const pageName = ({ first, suffix }: { readonly first: number; readonly suffix: string }): string =>
  `${withSuffix(numberName(first), suffix)}-page`;
export const bodyName = (seq: number, suffix: string): string => `${withSuffix(numberName(seq), suffix)}-body`;

/** What is larger than an object may be lies in several: the name itself, and the same with a number behind it. */
export const piecesOf = (name: string, pieces = 1): string[] => [
  name,
  ...Array.from({ length: pieces - 1 }, (_, index) => `${name}-${index + 1}`),
];

/** The part that a piece belongs to. */
export const partOfPiece = (name: string): string => name.replace(/-(page|body|list)-\d+$/, "-$1");

/** Names of parts to delete, where they are too many for the document: it names the list. */
export const listName = (suffix: string): string => `${withSuffix(numberName(0), suffix)}-list`;
export const isList = (part: string): boolean => part.endsWith("-list");
export const isPage = (part: string): boolean => part.endsWith("-page");

/** What the name of a part ends in behind its first record; empty for one of a copy. */
export const suffixOf = (part: string): string => /^\d+-(\w+)-/.exec(part)?.[1] ?? "";

/** The first record of a part of a life. */
export const firstRecordOf = (part: string): number => Number.parseInt(part, 10);

/** Full names of objects, below one prefix. A bucket that takes other names has a layout of its own. */
export class Layout {
  readonly prefix: string;
  readonly documents: string;
  readonly records: string;
  /** Behind the name of a thread and of a life. */
  readonly separator: string = "/";

  constructor(prefix: string, documents = `${prefix}threads/`, records = `${prefix}records/`) {
    this.prefix = prefix;
    this.documents = documents;
    this.records = records;
  }

  nameOf(threadId: string): string {
    return threadName(threadId);
  }

  idOf(name: string): string | undefined {
    return idOfThreadName(name);
  }

  isName(name: string): boolean {
    return isThreadName(name);
  }

  /** What the names of all threads begin with whose ids begin with `prefix`. */
  beginning(prefix: string): string {
    return namePrefix(prefix);
  }

  sizes(maxObjectBytes: number): Sizes {
    return sizesFor(maxObjectBytes);
  }

  document(name: string): string {
    return `${this.documents}${name}`;
  }

  folder(name: string): string {
    return `${this.records}${name}${this.separator}`;
  }

  life(name: string, life: string): string {
    return `${this.folder(name)}${life}${this.separator}`;
  }

  /** Of which thread, and of which life of it, the part is that has this name. */
  placeOf(part: string): { readonly name: string; readonly life: string } {
    const [name = "", life = ""] = part.slice(this.records.length).split(this.separator, 2);
    return { name, life };
  }
}
