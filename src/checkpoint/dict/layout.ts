import { nodeCrypto } from "../../internal/node-builtins.ts";

/**
 * Where a thread lies in a dict-shaped storage.
 *
 *   holdfast-thread-<sha256 of the id>          the document of the thread: the newest record, whole; the entries
 *                                               of the records before it; and a list of what is still to be done
 *   holdfast-page-<incarnation>-<page>          the entries of 16 positions that no append adds to any more
 *   holdfast-body-<incarnation>-<seq>           the body of one record
 *   …-<version>                                 a page or body that was put in place of an earlier one;
 *                                               the version is the position of the append that did it
 *
 * Three rules make an append atomic on a storage that can only do one key at a time:
 *
 * 1. Whatever is there is there because the document says so. Each change is
 *    one write of the document and takes effect with it.
 * 2. Everything else is written at most once: under one key there is never but
 *    one content, whoever writes it and however often. What an append pushes
 *    out of the document is written to its own key before the document changes.
 *    What several records of one append bring with them stays in the document
 *    until it is written to its own keys, and counts from the start.
 *    Nobody can put an old value over a new one, not even after a long sleep.
 * 3. What a change makes superfluous is named in the document until it is gone.
 *    An interrupted change is completed by the next one, from what is written.
 *
 * A page or body says whose it is, so that one that no document counts any more
 * can be told from one that a list merely shows too early (sweeping.ts).
 *
 * The incarnation is made at random for each thread that is created, so that
 * whoever still works on a deleted thread never touches its successor.
 */

/** Older versions load for ever; a newer one is refused. */
export const DOCUMENT_FORMAT = 1;

export const THREAD_PREFIX = "holdfast-thread-";
export const BODY_PREFIX = "holdfast-body-";
export const PAGE_PREFIX = "holdfast-page-";

export const threadKey = (threadId: string): string =>
  THREAD_PREFIX + nodeCrypto().createHash("sha256").update(threadId, "utf8").digest("hex");

/** A position, and which of its bodies counts. */
export interface Placed {
  readonly seq: number;
  /** Absent for the body that was appended at first. */
  readonly version?: number;
}

/** An incarnation, and the pages of it that were put in place of others: `[page, version]`. */
export interface Placing {
  readonly incarnation: string;
  readonly editedPages: readonly (readonly [number, number])[];
}

export const bodyKey = ({ incarnation }: Placing, { seq, version }: Placed): string =>
  `${BODY_PREFIX}${incarnation}-${numbered(seq, version)}`;

export const pageKey = ({ incarnation, editedPages }: Placing, page: number): string =>
  `${PAGE_PREFIX}${incarnation}-${numbered(page, editedPages.find(([edited]) => edited === page)?.[1])}`;

/** Whose page or body has this key; `undefined` for a key of another kind. */
export const incarnationIn = (key: string): string | undefined =>
  /^holdfast-(?:body|page)-([a-z0-9]+)-[0-9-]+$/.exec(key)?.[1];

const numbered = (number: number, version: number | undefined): string =>
  String(number).padStart(10, "0") + (version === undefined ? "" : `-${version}`);

/**
 * Every save writes the entries of the unfinished page, and listing reads page by
 * page: 16 costs a save about 2 kB and makes 400 checkpoints 25 reads.
 */
const ENTRIES_PER_PAGE = 16;

export const pageOf = (seq: number): number => Math.floor((seq - 1) / ENTRIES_PER_PAGE);
export const lastOfPage = (page: number): number => (page + 1) * ENTRIES_PER_PAGE;
