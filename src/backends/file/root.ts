import { access, constants, link, lstat, mkdir, readdir, rename, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type Access, noStoreHere } from "../../driver/access.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { assertLocalPath } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { codeOf, isGone } from "./classify.ts";
import { removeFiles, removeTree, syncDirectory } from "./durable-names.ts";
import { asUnsupported, writeNewFile } from "./durable-write.ts";
import { isLeftoverName, newTemporaryName, newTrashName } from "./layout.ts";
import { SegmentIndexes } from "./segment-indexes.ts";

/** Anything younger may belong to a live writer. */
export const LEFTOVER_AGE_MS: number = 60 * 60 * 1000;

/** The option of that name, absolute as of now: the working directory may change. */
export function checkedDirectory(directory: unknown, opener: string): string {
  if (typeof directory !== "string" || directory === "" || directory.includes("\0")) {
    const example = `${opener}({ directory: "./agents" })`;
    throw new StateError("INVALID_ARGUMENT", `the option "directory" must be a path, as in ${example}`);
  }
  assertLocalPath(directory);
  return resolve(directory);
}

/** The directory that holds all threads and items. */
export class RootDirectory {
  readonly path: string;
  /** The segment indexes that were read. */
  readonly indexes: SegmentIndexes = new SegmentIndexes();
  readonly #ready: OpenOnce<void>;
  readonly #writable: OpenOnce<void> = new OpenOnce(() => this.#probe());

  constructor(directory: string, access: Access = "write") {
    // Resolved now, not later: the working directory may change.
    this.path = resolve(directory);
    this.#ready = new OpenOnce(() => (access === "read" ? this.#look() : this.#open()));
  }

  /** To be awaited before any read. A writer creates the directory the first time, and cleans up after crashes. */
  ready(): Promise<void> {
    return this.#ready.get();
  }

  /** To be awaited before any write: reports problems with the directory before a thread is touched. */
  writable(): Promise<void> {
    return this.#writable.get();
  }

  /** A missing thread is absent only if the root directory exists. */
  async assertThere(): Promise<void> {
    try {
      await stat(this.path);
    } catch (cause) {
      if (!isGone(cause)) throw cause;
      throw this.#vanished(cause);
    }
  }

  /** The names in the directory. */
  async list(): Promise<readonly string[]> {
    try {
      return await readdir(this.path);
    } catch (cause) {
      if (!isGone(cause)) throw cause;
      throw this.#vanished(cause);
    }
  }

  temporaryPath(): string {
    return join(this.path, newTemporaryName());
  }

  /** Moves something away at once, whatever its size; `undefined` if it does not exist. `erase` the result. */
  async moveToTrash(path: string): Promise<string | undefined> {
    const trash = join(this.path, newTrashName());
    try {
      await rename(path, trash);
      return trash;
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  /** For read access: checks that the directory exists. Creates and cleans up nothing. */
  async #look(): Promise<void> {
    const found = await stat(this.path).catch((cause: unknown) => {
      if (codeOf(cause) === "ENOTDIR") throw this.#isFile(cause);
      if (!isGone(cause)) throw cause;
      throw noStoreHere(`the directory ${JSON.stringify(this.path)} does not exist`, cause);
    });
    if (!found.isDirectory()) throw this.#isFile();
  }

  async #open(): Promise<void> {
    const created = await this.#make();
    await this.#syncParents(created);
    // A failed cleanup must not prevent reading.
    await this.#sweep().catch(() => undefined);
  }

  async #syncParents(created: string | undefined): Promise<void> {
    // Another process may have just created it. Its parent may not be readable.
    if (created === undefined) return void (await syncDirectory(dirname(this.path)).catch(() => undefined));
    for (let parent = dirname(this.path); ; parent = dirname(parent)) {
      await syncDirectory(parent);
      if (parent === dirname(created)) return;
    }
  }

  /** The topmost directory that was created, if any. */
  async #make(): Promise<string | undefined> {
    try {
      return await mkdir(this.path, { recursive: true, mode: 0o700 });
    } catch (cause) {
      const code = codeOf(cause);
      if (code !== "EEXIST" && code !== "ENOTDIR") throw cause;
      throw this.#isFile(cause);
    }
  }

  #isFile(cause?: unknown): StateError {
    const message = `${JSON.stringify(this.path)} is, or lies below, a file; the option "directory" must name a directory`;
    return new StateError("INVALID_ARGUMENT", message, { location: this.path, cause });
  }

  async #probe(): Promise<void> {
    const [first, second] = [this.temporaryPath(), this.temporaryPath()];
    try {
      await access(this.path, constants.W_OK | constants.X_OK);
      await writeNewFile(first, Buffer.from("probe\n"));
      await link(first, second).catch((error: unknown) => {
        throw asUnsupported(error) ?? error;
      });
    } catch (cause) {
      throw isGone(cause) ? this.#vanished(cause) : cause;
    } finally {
      await removeFiles(
        this.path,
        [first, second].map((path) => basename(path)),
      ).catch(() => undefined);
    }
  }

  async #sweep(): Promise<void> {
    for (const name of await this.list()) {
      const path = join(this.path, name);
      // One that another process removes at this moment must not stop the sweep.
      if (!isLeftoverName(name) || !(await isOld(path).catch(() => false))) continue;
      // Through the trash: a process that still works on it must lose all of it at once, not file by file.
      const trash = await this.moveToTrash(path);
      if (trash !== undefined) await removeTree(this.path, basename(trash));
    }
  }

  #vanished(cause: unknown): StateError {
    const message = `the directory ${JSON.stringify(this.path)} is gone: deleted, or on a disk that is no longer mounted. Bring it back, or open it anew to start empty`;
    return new StateError("UNAVAILABLE", message, { location: this.path, cause });
  }
}

/** If the bytes of something deleted cannot be removed, the error says where they are. */
export async function erase(trash: string): Promise<void> {
  try {
    await removeTree(dirname(trash), basename(trash));
  } catch (cause) {
    const message = `it is deleted, but its bytes are still in ${JSON.stringify(trash)}: ${String(cause)}. Remove that by hand`;
    throw new StateError("UNKNOWN", message, { location: trash, cause });
  }
}

/** A thread being copied is a directory in a directory: check the time of both. */
async function isOld(path: string): Promise<boolean> {
  const inside = await readdir(path).catch(() => []);
  const all = await Promise.all([path, ...inside.map((name) => join(path, name))].map((one) => lstat(one)));
  return all.every(({ mtimeMs }) => Date.now() - mtimeMs > LEFTOVER_AGE_MS);
}
