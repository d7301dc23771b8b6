import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ScrubReport } from "../../driver/driver.ts";
import {
  BaseObjectBucket,
  type BucketListOptions,
  type FoundObject,
  type ObjectBucket,
} from "../../driver/object-bucket.ts";
import { StateError } from "../../errors.ts";
import { codeOf, ignoreIfGone, isGone } from "./classify.ts";
import { Removals, removeFiles, removeTree, syncDirectory } from "./durable-names.ts";
import { writeNewFile } from "./durable-write.ts";
import { readWholeFile } from "./read-file.ts";
import type { RootDirectory } from "./root.ts";
import { AGAIN, untilUndisturbed } from "./undisturbed.ts";

/**
 * Objects as directories, so that a write on condition needs no lock.
 *
 *   <directory>/items/users-u1--/                      a folder is a directory
 *     profile@/                                        an object is one too, 0700
 *       at-3fa1c07be2d94a58                            says which version is there; empty
 *       3fa1c07be2d94a58-b07c1d2f5e6a7788.jsonl        that version, 0600, and the one that it replaced
 *       91d2….jsonl                                    of a writer that has not won yet, or never will
 *
 * To write, the new version is put beside the old one, and then the mark is renamed to it: of several writers one finds the
 * mark that it read, and a version never comes again, so one that comes late finds none. To delete, the mark is
 * removed. A new object appears by one rename of a directory, which is refused where one is. What is superseded
 * is removed next, and otherwise by the next writer: nothing is read whose name the mark does not say.
 */
const OBJECT = "@";
const MARK = /^at-([0-9a-f]{16})$/;
const CONTENT = /^([0-9a-f]{16})-([0-9a-f]{16})\.jsonl$/;
/** In the place of a version that was replaced: there was none. */
const NO_VERSION = "0".repeat(16);

/** What a mark says is missing if it is still so after a few looks: a list is no moment. */
const LOOKS_BEFORE_DAMAGE = 5;

const EXISTS: ReadonlySet<string | undefined> = new Set(["ENOTEMPTY", "EEXIST", "EPERM"]);

/** What is in the directory of an object. */
interface Listing {
  /** Where there is none, the object is being removed. */
  readonly version: string | undefined;
  readonly contents: readonly { readonly name: string; readonly version: string; readonly replaced: string }[];
}

/** The conditional key-value contract on a file system. */
export class FileBucket extends BaseObjectBucket implements ObjectBucket {
  readonly #root: RootDirectory;

  constructor(root: RootDirectory) {
    super();
    this.#root = root;
  }

  async get(name: string): Promise<FoundObject | undefined> {
    await this.#root.ready();
    const directory = this.#pathOf(name);
    let looks = 0;
    return untilUndisturbed<FoundObject | undefined>(async () => {
      const { version, contents } = await this.#list(directory);
      if (version === undefined) return undefined;
      const content = contents.find((one) => one.version === version);
      if (content !== undefined) return { bytes: await readWholeFile(join(directory, content.name)), version };
      if (++looks === LOOKS_BEFORE_DAMAGE) throw missing(name, version);
      return AGAIN;
    });
  }

  async put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
    await this.#root.ready();
    await this.#root.writable();
    return expected === undefined ? this.#create(name, bytes) : this.#replace(this.#pathOf(name), bytes, expected);
  }

  async delete(name: string): Promise<void> {
    await this.#root.ready();
    await untilUndisturbed(async () => {
      const { version } = await this.#list(this.#pathOf(name));
      return version === undefined || (await this.#remove(name, version)) ? undefined : AGAIN;
    });
  }

  override async deleteIf(name: string, version: string): Promise<boolean> {
    await this.#root.ready();
    return (await this.#remove(name, version)) || (await this.#list(this.#pathOf(name))).version === undefined;
  }

  async *list({ prefix, startAfter = "", end, pageSize = 1000 }: BucketListOptions): AsyncGenerator<string[]> {
    await this.#root.ready();
    let page: string[] = [];
    for await (const name of this.#walk("", { prefix, startAfter, end })) {
      if (page.push(name) < pageSize) continue;
      yield page;
      page = [];
    }
    yield page;
  }

  /** Removes what writers left that were killed or lost a race. */
  override async deleteOlderVersions(prefix: string): Promise<ScrubReport> {
    for await (const names of this.list({ prefix })) {
      for (const name of names) await this.#tidy(this.#pathOf(name)).catch(ignoreIfGone);
    }
    return { done: ["files that held it were removed"], remains: ["free blocks of the disk, unless it is encrypted"] };
  }

  async #create(name: string, bytes: Buffer): Promise<string | undefined> {
    const directory = this.#pathOf(name);
    const { version: there } = await this.#list(directory);
    if (there !== undefined) return undefined;
    const [draft, version] = [this.#root.temporaryPath(), newVersion()];
    let isMoved = false;
    try {
      await mkdir(draft, { mode: 0o700 });
      await writeNewFile(join(draft, contentName(version, NO_VERSION)), bytes);
      await writeNewFile(join(draft, markName(version)), Buffer.alloc(0));
      await syncDirectory(draft);
      isMoved = await untilUndisturbed(() => this.#publish(draft, directory));
    } finally {
      // What cannot be removed now is swept later; no reader looks for its name.
      if (!isMoved) await this.#discard(draft).catch(() => undefined);
    }
    return isMoved ? version : undefined;
  }

  /** False where there is such an object. */
  async #publish(draft: string, directory: string): Promise<boolean | typeof AGAIN> {
    await this.#makeFolders(dirname(directory));
    try {
      await rename(draft, directory);
    } catch (error) {
      if (isGone(error)) return AGAIN;
      if (!EXISTS.has(codeOf(error))) throw error;
      if ((await this.#list(directory)).version !== undefined) return false;
      await this.#clear(directory);
      return AGAIN;
    }
    await syncDirectory(dirname(directory));
    return true;
  }

  async #replace(directory: string, bytes: Buffer, expected: string): Promise<string | undefined> {
    if ((await this.#list(directory)).version !== expected) return undefined;
    const version = newVersion();
    const name = contentName(version, expected);
    try {
      await writeNewFile(join(directory, name), bytes);
      await syncDirectory(directory);
      const removals = new Removals(directory);
      try {
        await removals.keep(markName(expected));
        await rename(join(directory, markName(expected)), join(directory, markName(version)));
      } finally {
        await removals.settle();
      }
    } catch (error) {
      await removeFiles(directory, [name]).catch(() => undefined);
      // The directory was removed, or the mark was.
      if (isGone(error)) return undefined;
      throw error;
    }
    // It is written. What stays behind now is removed by the next writer.
    await this.#tidy(directory).catch(() => undefined);
    return version;
  }

  /** False if the object has another version, or if there is none. */
  async #remove(name: string, version: string): Promise<boolean> {
    const directory = this.#pathOf(name);
    const removals = new Removals(directory);
    try {
      await removals.keep(markName(version));
      await unlink(join(directory, markName(version)));
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    } finally {
      await removals.settle();
    }
    await this.#clear(directory);
    await this.#removeEmptyFolders(dirname(directory));
    return true;
  }

  /** Removes the directory of an object that was deleted. Whatever comes in its place has files of other names. */
  async #clear(directory: string): Promise<void> {
    const { version, contents } = await this.#list(directory);
    if (version !== undefined) return;
    await removeFiles(
      directory,
      contents.map(({ name }) => name),
    );
    await rmdir(directory).catch(ignoreIfTaken);
    await syncDirectory(dirname(directory)).catch(ignoreIfGone);
  }

  /** Removes the versions that were replaced. A pending one that would replace the present version may still win. */
  async #tidy(directory: string): Promise<void> {
    const { version, contents } = await this.#list(directory);
    if (version === undefined) return;
    const over = contents.filter((one) => one.version !== version && one.replaced !== version);
    await removeFiles(
      directory,
      over.map(({ name }) => name),
    );
  }

  async #list(directory: string): Promise<Listing> {
    const names = await readdir(directory).catch(ignoreIfGone);
    if (names === undefined) await this.#root.assertThere();
    let version: string | undefined;
    const contents: { name: string; version: string; replaced: string }[] = [];
    for (const name of names ?? []) {
      version ??= MARK.exec(name)?.[1];
      const [, own, replaced] = CONTENT.exec(name) ?? [];
      if (own !== undefined && replaced !== undefined) contents.push({ name, version: own, replaced });
    }
    return { version, contents };
  }

  async *#walk(
    folder: string,
    range: { readonly prefix: string; readonly startAfter: string; readonly end: string | undefined },
  ): AsyncGenerator<string> {
    const { prefix, startAfter, end } = range;
    const path = join(this.#root.path, ...folder.split("/").map(fileNameOf));
    const entries = await readdir(path, { withFileTypes: true }).catch(ignoreIfGone);
    if (entries === undefined) return this.#root.assertThere();
    const directories = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
    const names = directories.map(({ name }) =>
      name.endsWith(OBJECT) ? folder + partOf(name.slice(0, -1)) : `${folder}${partOf(name)}/`,
    );
    for (const name of names.sort()) {
      if (end !== undefined && name >= end) return;
      if (!name.endsWith("/")) {
        if (name > startAfter && name.startsWith(prefix)) yield name;
      } else if (
        (name.startsWith(prefix) || prefix.startsWith(name)) &&
        (name > startAfter || startAfter.startsWith(name))
      ) {
        yield* this.#walk(name, range);
      }
    }
  }

  #pathOf(name: string): string {
    return `${join(this.#root.path, ...name.split("/").map(fileNameOf))}${OBJECT}`;
  }

  /** Each is on the disk before anything is in it. */
  async #makeFolders(path: string): Promise<void> {
    if (path === this.#root.path) return;
    try {
      await mkdir(path, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) === "EEXIST") return;
      if (!isGone(error)) throw error;
      await this.#root.assertThere();
      await this.#makeFolders(dirname(path));
      return this.#makeFolders(path);
    }
    await syncDirectory(dirname(path));
  }

  /** Removes folders that are empty by now: each is named after the namespace of its items. */
  async #removeEmptyFolders(path: string): Promise<void> {
    for (let folder = path; folder !== this.#root.path; folder = dirname(folder)) {
      try {
        await rmdir(folder);
      } catch (error) {
        if (isGone(error) || EXISTS.has(codeOf(error))) return;
        throw error;
      }
      await syncDirectory(dirname(folder)).catch(ignoreIfGone);
    }
  }

  async #discard(draft: string): Promise<void> {
    const name = draft.slice(dirname(draft).length + 1);
    await removeTree(dirname(draft), name);
  }
}

const newVersion = (): string => randomBytes(8).toString("hex");
const markName = (version: string): string => `at-${version}`;
const contentName = (version: string, replaced: string): string => `${version}-${replaced}.jsonl`;

/** A part of a name as that of a directory: some file systems take capital letters for small ones, and a dot in front hides. */
const fileNameOf = (part: string): string => part.replace(/[A-Z]|^\./g, (character) => `!${character.toLowerCase()}`);

const partOf = (fileName: string): string =>
  fileName.replace(/!(.)/g, (_, character: string) => character.toUpperCase());

function ignoreIfTaken(error: unknown): void {
  if (!isGone(error) && !EXISTS.has(codeOf(error))) throw error;
}

const missing = (name: string, version: string): StateError =>
  new StateError("CORRUPT", `the object ${name} says that its version is ${version}, and there is no such file`, {
    location: name,
  });
