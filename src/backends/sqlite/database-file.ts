import { randomUUID } from "node:crypto";
import {
  accessSync,
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  linkSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { StateError } from "../../errors.ts";
import { STALE } from "./classify.ts";

/**
 * The database as a file, as far as its name tells. A process loses all its locks on a
 * file when it closes any descriptor of that file, whichever library opened it (POSIX),
 * and SQLite is not told. So nothing but SQLite ever opens a database: what is asked
 * here is asked by name, and a new file is closed before it has its name.
 */

/**
 * The one name of a file: SQLite derives the names of the journal and the write-ahead
 * log from it, and it does not depend on the working directory.
 */
export function canonicalPath(path: string, linksLeft = 40): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || linksLeft === 0) throw error;
    const target = linkTarget(path);
    if (target !== undefined) return canonicalPath(resolve(dirname(path), target), linksLeft - 1);
    return join(realpathSync(dirname(path)), basename(path));
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** What a new file is called until it is closed. */
const DRAFT_PREFIX = ".holdfast-new-";

/**
 * Conversations are private: a new file gets a mode for its owner only, and SQLite
 * gives its companion files the same mode. Between an `open` and a `close` under the
 * final name, another thread of this process could take locks, and lose them.
 */
export function createPrivately(path: string): void {
  const draft = join(dirname(path), `${DRAFT_PREFIX}${randomUUID()}`);
  closeSync(openSync(draft, "wx", 0o600));
  try {
    linkSync(draft, path);
  } catch {
    // Another process made it, or the file system has no links: then SQLite makes it.
  } finally {
    removeName(draft);
  }
}

/** Where SQLite had to make the file, it does so with the mode of any file, and empty. */
export function makePrivate(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch {
    // A file system without modes.
  }
}

/** Why this process cannot write the file; `undefined` if it can. */
export function writeRefusal(path: string): unknown {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    if (["EROFS", "EACCES", "EPERM"].includes(codeOf(error) ?? "")) return error;
    throw error;
  }
}

/** Refuses what is not a file of one name. */
export function assertOneFile(path: string, stats: Stats | BigIntStats): void {
  if (stats.isDirectory())
    throw Object.assign(new Error("EISDIR: illegal operation on a directory"), { code: "EISDIR" });
  if (!stats.isFile())
    throw new StateError("INVALID_ARGUMENT", `${JSON.stringify(path)} is not a file`, { location: path });
  if (Number(stats.nlink) < 2 || namesWithoutDrafts(path) < 2) return;
  throw new StateError(
    "INVALID_ARGUMENT",
    `${JSON.stringify(path)} is one of ${stats.nlink} names of the same file (hard links). Each name has a write-ahead log of its own, and what is saved under one is lost or damaged under another. Remove the other names, or make a copy of the file and use that`,
    { location: path },
  );
}

/** A process that was killed in `createPrivately` leaves a second name behind; one that is in the middle of it removes it itself. */
function namesWithoutDrafts(path: string): number {
  const folder = dirname(path);
  const identity = identityOf(path);
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(DRAFT_PREFIX)) continue;
    const draft = join(folder, name);
    if (identityOf(draft) === identity) removeName(draft);
  }
  return statSync(path).nlink;
}

function removeName(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

const codeOf = (error: unknown): string | undefined => {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
};

/** File systems record the time of a change in steps of up to 10 ms. Within one step a second change looks like the first. */
export const CLOCK_STEP_MS = 20;

/** Which file has a name now; `undefined` if none has. */
type Identity = string | undefined;

function identityOf(path: string): Identity {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino}`;
}

/** How long a look is good for a reader. Writers look each time. */
const LOOK_IS_GOOD_FOR_MS = 100;

/**
 * Notices that an open database lost its name: it was removed, renamed or replaced, or
 * one of its companions was. SQLite then keeps writing into files that no other process
 * sees and that are gone with this one. Names change only together with their folder,
 * so nearly every look is at the folder alone.
 */
export class PlaceOfFile {
  readonly #path: string;
  /** By the names that are watched. */
  readonly #opened: ReadonlyMap<string, Identity>;
  /** The folder as it was when every name was last in its place, and old enough for a further change to show. */
  #folder: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /**
   * For a database whose first transaction has opened its companions. Those of a connection that was handed in are its
   * owner's.
   */
  constructor(path: string, { isOurs }: { isOurs: boolean }) {
    this.#path = path;
    const companions = isOurs ? ["-wal", "-shm"].map((end) => `${path}${end}`) : [];
    const there = companions.filter((name) => identityOf(name) !== undefined);
    this.#opened = new Map([path, ...there].map((name) => [name, identityOf(name)]));
  }

  /** Throws unless each name is that of the file that is open. A reader may rely on a recent look. */
  assertKept(isReading = false): void {
    const now = performance.now();
    if (isReading && now - this.#lookedAt < LOOK_IS_GOOD_FOR_MS) return;
    const stats = statSync(dirname(this.#path), { throwIfNoEntry: false });
    // Another change in this moment would not be told from the last one.
    const isFresh = stats === undefined || Math.abs(Date.now() - stats.mtimeMs) < CLOCK_STEP_MS;
    const folder = isFresh ? undefined : `${stats.dev} ${stats.ino} ${stats.mtimeMs}`;
    if (folder === undefined || folder !== this.#folder) {
      this.#folder = undefined;
      for (const [name, opened] of this.#opened) {
        if (opened === undefined || identityOf(name) !== opened) throw this.#lost(name);
      }
      this.#folder = folder;
    }
    this.#lookedAt = now;
  }

  #lost(name: string): StateError {
    return new StateError(
      "UNAVAILABLE",
      `${JSON.stringify(name)} was removed, renamed or replaced while it was open, and what this process would write to it would be lost. Put it back, or restart this process to work with the file that is there now`,
      { location: name, cause: Object.assign(new Error("ESTALE: stale file handle"), { code: STALE }) },
    );
  }
}
