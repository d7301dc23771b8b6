import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";

/**
 * How threads lie in a directory.
 *
 *   <directory>/                           0700, made at first use
 *     user-42-9f86d081884c7d659a2f…/       one for each thread: a hint for people, and the hash of its id
 *       3fa1c07be2d94a58/                  one life of that thread, its "log"; the name is random
 *         0000000041.json                  one record each, 0600, text that a person can read
 *         0000000042.json                  the largest number is the tail
 *         .staging-6b1f22c09d7e4a31/       files on their way to a name
 *     .tmp-…/                              a thread that is being made: not there yet
 *     .trash-…/                            a thread that is being deleted: no longer there
 *
 * Four rules make this safe between processes, without any lock:
 *
 * 1. A record is written and synced in the staging directory and then linked to
 *    its number. A link is made only where nothing is, so one writer wins.
 * 2. A staging directory is also the proof of what its owner has seen. Whoever
 *    is about to replace or drop records first moves every staging directory
 *    away. A writer that looked at the log before that then has no file to link
 *    from, and looks again: nobody can land in the gap a dropped record left,
 *    and nobody can put an outdated record over a newer one. While one staging
 *    directory stands, no record of the log was replaced or dropped.
 * 3. Edits travel inside the record they were appended with; its link commits
 *    both. They are carried out afterwards, and again if that was interrupted,
 *    before anything else is appended: only the tail can hold unfinished edits,
 *    and readers see through them. The tail is rewritten without them at the end.
 * 4. A thread appears and disappears by one rename. The name of its log is never
 *    used again, so that whoever is late finds nothing to write to.
 */

/** Written into every file. Older ones load for ever; a newer one is refused. */
export const FILE_FORMAT = 1;

/** Names the directory of a thread. Two ids never share one, also where "A" and "a" are the same file. */
export function threadDirectoryName(threadId: string): string {
  // 160 bits: as good as the id itself; and each record holds the id, so that even a collision would be noticed.
  const hash = createHash("sha256").update(threadId, "utf8").digest("hex").slice(0, 40);
  const hint = slug(threadId);
  return hint === "" ? hash : `${hint}-${hash}`;
}

const THREAD_DIRECTORY = /^([a-z0-9][a-z0-9-]{0,31}-)?[0-9a-f]{40}$/;
export const isThreadDirectoryName = (name: string): boolean => THREAD_DIRECTORY.test(name);

/** What the names of all threads begin with whose ids begin with `prefix`: its first letters and digits. */
export const directoryPrefix = (prefix: string): string => lowerAscii(/^[a-z0-9]{0,32}/i.exec(prefix)?.[0] ?? "");

function slug(threadId: string): string {
  const safe = lowerAscii(threadId.slice(0, 32)).replace(/[^a-z0-9]+/g, "-");
  return safe.replace(/^-|-$/g, "");
}

/** Not `toLowerCase()`, which makes letters of the alphabet out of others: the Kelvin sign becomes "k". */
const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const LOG = /^[0-9a-f]{16}$/;
export const newLogName = (): string => randomName();
export const isLogName = (name: string): boolean => LOG.test(name);

export const recordFileName = (seq: number): string => `${String(seq).padStart(10, "0")}.json`;

const RECORD_FILE = /^(?!0+\.)(?:\d{10}|[1-9]\d{10,15})\.json$/;

/** The position a file name stands for, if it is that of a record. */
export function positionOfFile(name: string): number | undefined {
  return RECORD_FILE.test(name) ? Number.parseInt(name, 10) : undefined;
}

/**
 * Where a symbolic link to this stands in place of the newest record, the thread
 * was removed. It is made where the disk is too full for a record that says so:
 * a short link takes no space.
 */
export const REMOVAL_MARK = "removed";

const STAGING = /^\.staging-[0-9a-f]{16}$/;
export const newStagingName = (): string => `.staging-${randomName()}`;
export const isStagingName = (name: string): boolean => STAGING.test(name);

/** To the letter, because what has such a name may be deleted: the user's own files must not. */
const LEFTOVER = /^\.(tmp|trash)-[0-9a-f]{16}$/;
export const newTemporaryName = (): string => `.tmp-${randomName()}`;
export const newTrashName = (): string => `.trash-${randomName()}`;
export const isLeftoverName = (name: string): boolean => LEFTOVER.test(name);

/** Random, so that two containers that share a volume, and a process id, never choose the same. */
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

/** How errors name a file: below the directory that the user chose, with slashes everywhere. */
export const locationOf = (place: LogPlace, seq?: number): string =>
  [place.threadDirectory, place.log, ...(seq === undefined ? [] : [recordFileName(seq)])].join("/");
