import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, copyFile, mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const IMAGE_BYTES = 64 * 1024 * 1024;

/** Why no disk can be made here, or `undefined`. */
export async function whyNoDisks(): Promise<string | undefined> {
  if (process.platform !== "linux") return `it needs Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return "it needs root, to mount a disk of its own";
  try {
    await using _ = await Disk.create();
    return undefined;
  } catch (error) {
    return `no disk can be mounted here: ${String(error)}`;
  }
}

export interface DiskOptions {
  /**
   * Without a journal the file system writes each block of a folder, each inode and each map when it likes: a name that
   * was removed comes back, and may lead to what has its inode by then. What is found is repaired as at a start.
   */
  readonly hasJournal: boolean;
}

/**
 * A disk of its own: an ext4 image in memory, mounted through a loop device.
 * What was not synced is in the system's cache and not in the image; so a copy
 * of the image is what a real disk would hold if the power went at that instant.
 */
export class Disk implements AsyncDisposable {
  readonly #root: string;
  readonly #options: DiskOptions;

  private constructor(root: string, options: DiskOptions) {
    this.#root = root;
    this.#options = options;
  }

  static async create(options: DiskOptions = { hasJournal: true }): Promise<Disk> {
    const disk = await Disk.#inNewFolder(options);
    const image = await open(disk.#image, "wx");
    await image.truncate(IMAGE_BYTES);
    await image.close();
    await run("mkfs.ext4", ["-q", "-F", ...(options.hasJournal ? [] : ["-O", "^has_journal"]), disk.#image]);
    return disk.#mounted();
  }

  /** The disk as it would be found if the power went now. */
  async afterPowerCut(): Promise<Disk> {
    const copy = await Disk.#inNewFolder(this.#options);
    await copyFile(this.#image, copy.#image, constants.COPYFILE_FICLONE);
    if (!this.#options.hasJournal) await repair(copy.#image);
    return copy.#mounted();
  }

  /** Where its files are. */
  get directory(): string {
    return join(this.#root, "mounted");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await run("umount", [this.directory]);
    } catch (error) {
      // Something on it was left open: that is the fault to report, but no mount is to stay behind.
      await run("umount", ["--lazy", this.directory]);
      throw error;
    } finally {
      await rm(this.#root, { recursive: true });
    }
  }

  get #image(): string {
    return join(this.#root, "image");
  }

  async #mounted(): Promise<Disk> {
    await mkdir(this.directory);
    try {
      await run("mount", ["-o", "loop", this.#image, this.directory]);
      return this;
    } catch (error) {
      await rm(this.#root, { recursive: true });
      throw error;
    }
  }

  static async #inNewFolder(options: DiskOptions): Promise<Disk> {
    const inMemory = await access("/dev/shm", constants.W_OK).then(
      () => "/dev/shm",
      () => tmpdir(),
    );
    return new Disk(await mkdtemp(join(inMemory, "holdfast-disk-")), options);
  }
}

/** It says by its exit code that there was something to repair. */
async function repair(image: string): Promise<void> {
  await run("e2fsck", ["-f", "-y", image]).catch((error: { code?: unknown }) => {
    if (!(typeof error.code === "number" && error.code < 4)) throw error;
  });
}
