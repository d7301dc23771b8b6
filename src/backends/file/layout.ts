import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";

/**
 * How threads are stored in a directory.
 *
 *   <directory>/                           0700, created on first use
 *     user-42-9f86d081884c7d659a2f…/       one per thread: a hint for people, and the hash of its id
 *       3fa1c07be2d94a58/                  one generation of that thread, its "log"; the name is random
 *         0000000001-0000004096.json       its history: a segment, 0600, one line of JSON per record
 *         0000004097.json                  the newest records, one file each, until they are folded into the history
 *         0000004098.json                  the largest number is the tail, here or in the name of a segment;
 *                                          records that were appended together share the file of the first
 *         .staging-6b1f22c09d7e4a31/       files that have no final name yet
 *         .edition-c3b0aa5918f2e6d7/       replaced when a record is replaced or dropped
 *     .tmp-…/                              a thread that is being created: not visible yet
 *     .trash-…/                            a thread that is being deleted: no longer visible
 *
 * These rules make this safe between processes, without any lock:
 *
 * 1. Every file is written and synced in the staging directory and then gets its
 *    name by one link or rename. So no reader sees an incomplete file, and any
 *    wrong byte is damage. A record is linked to its number. A link fails if the
 *    name exists, so one writer wins. Records that are appended together are one
 *    file under the number of the first, so that one link commits them all. No
 *    writer can link to the numbers of the others: a writer that sees the first
 *    sees the last as the tail, and appends after it.
 * 2. A staging directory proves what its owner has seen. Before a process removes
 *    names, it moves every staging directory away. A writer that read the log
 *    before that has no file to link from, and reads the log again. So no writer
 *    can fill the gap that a removed name left, and no writer can replace something
 *    newer by something stale.
 * 3. Edits are stored inside the record that they were appended with; its link
 *    commits both. They are carried out afterwards, and again if that was
 *    interrupted, before anything else is appended or folded: only the tail can
 *    hold unfinished edits, and readers apply them. At the end the tail is
 *    rewritten without them. If they change one of several records that share a
 *    file, all files below the tail's are joined into a segment. Before the first
 *    record is replaced or dropped, the edition changes: a new one is created, and
 *    the old ones are removed. What a reader found during one edition belongs
 *    together.
 * 4. A thread appears and disappears by one rename. The name of its log is never
 *    reused, so that a late writer finds nothing to write to.
 * 5. Folding changes no record: it stores the same in fewer files. A segment with
 *    the newest records, and with smaller segments before them, is linked to the
 *    range that it covers. Only then, by rule 2, the files that it covers are
 *    removed. Everything inside the range of a segment is ignored.
 *
 * 6. What loses its name stays open until the directory is on the disk without the
 *    name, and a new directory is on the disk before anything is in it
 *    (`durable-names.ts`). So an inode is never used again while an old name may lead
 *    to it, also where the file system keeps no order of its own.
 *
 * Why folding may stop at any step, and why two processes may fold at once:
 *
 * - Killed before the link: a draft is left in the staging directory and is swept
 *   like any other. Killed after it: the records exist twice, the segment counts,
 *   and the next fold or edit removes what it covers. After a power failure,
 *   removed names may come back: they are covered too. A segment is on the disk,
 *   name included, before anything that it covers is removed.
 * - Two processes that fold at once link the same segment, or two whose ranges
 *   overlap. Each holds all records of its range unchanged, so that it makes no
 *   difference from which one a record is read; the next merge joins them. No
 *   range is ever split, so that a file that was covered once stays covered and
 *   may be removed at any later time.
 * - A position that may be removed was covered, and so was at or below the tail,
 *   before the staging directories were listed. A writer with a later staging
 *   directory sees that tail or a newer one, and appends after it.
 * - Edits and folding: a process that folds read the log while its staging
 *   directory existed, and saw no unfinished edits. Edits that were committed since
 *   move that directory away before they are carried out. So its segment is linked
 *   before that, and is edited like the others, or never. Edits remove covered files
 *   too: what was deleted is gone from the disk.
 * - A listing may miss a file that was removed and the segment that was linked
 *   while it ran. So either it shows every position up to the tail, or it is
 *   repeated until a staging directory that existed before it also exists after it:
 *   then nothing was removed in between that had not been covered before.
 */

/** Written into every file. Older formats can always be loaded; a newer one is refused. */
export const FILE_FORMAT = 1;

/** The name of a thread's directory. Two ids never share one, even on a case-insensitive file system. */
export function threadDirectoryName(threadId: string): string {
  // 160 bits are as unique as the id itself. Each record also holds the id, so that even a collision would be noticed.
  const hash = createHash("sha256").update(threadId, "utf8").digest("hex").slice(0, 40);
  const hint = slug(threadId);
  return hint === "" ? hash : `${hint}-${hash}`;
}

const THREAD_DIRECTORY = /^([a-z0-9][a-z0-9-]{0,31}-)?[0-9a-f]{40}$/;
export const isThreadDirectoryName = (name: string): boolean => THREAD_DIRECTORY.test(name);

/** The common beginning of the directory names of all threads whose ids begin with `prefix`: its first letters and digits. */
export const directoryPrefix = (prefix: string): string => lowerAscii(/^[a-z0-9]{0,32}/i.exec(prefix)?.[0] ?? "");

function slug(threadId: string): string {
  const safe = lowerAscii(threadId.slice(0, 32)).replace(/[^a-z0-9]+/g, "-");
  return safe.replace(/^-|-$/g, "");
}

/** Not `toLowerCase()`, which turns some other characters into ASCII letters: the Kelvin sign becomes "k". */
const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const LOG = /^[0-9a-f]{16}$/;
/** The name of a listing of the directory, as it appears in a cursor. */
export const newListingName = (): string => randomName();
export const isListingName = (name: string): boolean => LOG.test(name);
export const newLogName = (): string => randomName();
export const isLogName = (name: string): boolean => LOG.test(name);

export const recordFileName = (seq: number): string => `${String(seq).padStart(10, "0")}.json`;

const RECORD_FILE = /^(?!0+\.)(?:\d{10}|[1-9]\d{10,15})\.json$/;

/** The position in a file name, if it is that of a record. */
export function positionOfFile(name: string): number | undefined {
  return RECORD_FILE.test(name) ? Number.parseInt(name, 10) : undefined;
}

/**
 * A symbolic link to this, in place of the newest record, says that the thread was
 * removed. It is made if the disk is too full for a record that says so: a short
 * link takes no space.
 */
export const REMOVAL_MARK = "removed";

export interface Range {
  readonly from: number;
  /** Included. */
  readonly to: number;
}

export const segmentFileName = ({ from, to }: Range): string =>
  [from, to]
    .map((seq) => String(seq).padStart(10, "0"))
    .join("-")
    .concat(".json");

const SEGMENT_FILE = /^(\d{10,16})-(\d{10,16})\.json$/;

/** The positions that a file name covers, if it is that of a segment. */
export function rangeOfFile(name: string): Range | undefined {
  const [, from, to] = SEGMENT_FILE.exec(name) ?? [];
  if (from === undefined || to === undefined) return undefined;
  const range = { from: Number(from), to: Number(to) };
  return range.from >= 1 && range.from <= range.to && segmentFileName(range) === name ? range : undefined;
}

const EDITION = /^\.edition-[0-9a-f]{16}$/;
export const newEditionName = (): string => `.edition-${randomName()}`;
export const isEditionName = (name: string): boolean => EDITION.test(name);

const STAGING = /^\.staging-[0-9a-f]{16}$/;
export const newStagingName = (): string => `.staging-${randomName()}`;
export const isStagingName = (name: string): boolean => STAGING.test(name);

/** Matches exactly, because such a file may be deleted: the user's own files must never match. */
const LEFTOVER = /^\.(tmp|trash)-[0-9a-f]{16}$/;
export const newTemporaryName = (): string => `.tmp-${randomName()}`;
export const newTrashName = (): string => `.trash-${randomName()}`;
export const isLeftoverName = (name: string): boolean => LEFTOVER.test(name);

/** Random, so that two containers that share a volume and have the same process id never choose the same name. */
function randomName(): string {
  return randomBytes(8).toString("hex");
}

/** One log: where it is, and the names that lead there. */
export interface LogPlace {
  readonly threadDirectory: string;
  readonly log: string;
  /** Absolute. */
  readonly path: string;
}

export const recordPath = (place: LogPlace, seq: number): string => join(place.path, recordFileName(seq));

export const segmentPath = (place: LogPlace, range: Range): string => join(place.path, segmentFileName(range));

/** How errors name a file: relative to the directory that the user chose, with slashes on every system. */
export const locationOf = (place: LogPlace, file?: number | Range): string =>
  [place.threadDirectory, place.log, ...(file === undefined ? [] : [fileNameOf(file)])].join("/");

const fileNameOf = (file: number | Range): string =>
  typeof file === "number" ? recordFileName(file) : segmentFileName(file);
