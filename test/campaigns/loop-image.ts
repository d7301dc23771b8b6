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

/**
 * A disk of its own: an ext4 image in memory, mounted through a loop device.
 * What was not synced is in the system's cache and not in the image; so a copy
 * of the image is what a real disk would hold if the power went at that instant.
 */
export class Disk implements AsyncDisposable {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  static async create(): Promise<Disk> {
    const disk = await Disk.#inNewFolder();
    const image = await open(disk.#image, "wx");
    await image.truncate(IMAGE_BYTES);
    await image.close();
    await run("mkfs.ext4", ["-q", "-F", disk.#image]);
    return disk.#mounted();
  }

  /** The disk as it would be found if the power went now. */
  async afterPowerCut(): Promise<Disk> {
    const copy = await Disk.#inNewFolder();
    await copyFile(this.#image, copy.#image, constants.COPYFILE_FICLONE);
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

  static async #inNewFolder(): Promise<Disk> {
    const inMemory = await access("/dev/shm", constants.W_OK).then(
      () => "/dev/shm",
      () => tmpdir(),
    );
    return new Disk(await mkdtemp(join(inMemory, "holdfast-disk-")));
  }
}
