import { type FileHandle, link, open, rename, symlink, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { StateError } from "../../errors.ts";
import { codeOf } from "./classify.ts";
import { type Removals, removeFiles } from "./durable-names.ts";
import { newTemporaryName } from "./layout.ts";

/** The content of a file: all at once, or piece by piece. */
export type Content = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Creates a file and returns when its bytes are on the disk. Until then the file may
 * be incomplete, so its name must be one that no reader looks for. A failed sync is
 * final; the next attempt begins with a new file.
 */
export async function writeNewFile(path: string, content: Content): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    if (content instanceof Uint8Array) await writeAll(file, content);
    else for await (const piece of content) await writeAll(file, piece);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A disk that fills up may write fewer bytes than it was given and still report success. */
async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.byteLength; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.byteLength - written);
    if (bytesWritten === 0) throw new Error(`only ${written} of ${bytes.byteLength} bytes were taken`);
    written += bytesWritten;
  }
}

/** Writes bytes under a name that must be free: false if it is taken. The whole file appears at once; sync the directory next. */
export async function createAt(path: string, content: Content, staging: string): Promise<boolean> {
  return staged(content, staging, (draft) => linkToFree(draft, path));
}

/** The same for a symbolic link, which needs no space for data. Only where `link` does not follow symbolic links: on Linux. */
export async function createMarkAt(path: string, mark: string, staging: string): Promise<boolean> {
  const draft = join(staging, newTemporaryName());
  try {
    await symlink(mark, draft);
    return await linkToFree(draft, path);
  } finally {
    await unlink(draft).catch(() => undefined);
  }
}

async function linkToFree(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw asUnsupported(error) ?? error;
  }
}

/** Replaces the file under a name. A reader sees the old file or the new one. `replaced` is of its directory. */
export async function replaceAt(path: string, content: Content, staging: string, replaced: Removals): Promise<void> {
  await staged(content, staging, async (draft) => {
    await replaced.keep(basename(path));
    await rename(draft, path);
    return true;
  });
}

/** `move` gives the draft its final name, or says that it did not. */
async function staged(content: Content, staging: string, move: (draft: string) => Promise<boolean>): Promise<boolean> {
  const name = newTemporaryName();
  const draft = join(staging, name);
  let isMoved = false;
  try {
    await writeNewFile(draft, content);
    isMoved = await move(draft);
    return isMoved;
  } finally {
    // A draft that cannot be removed now is swept later; no reader looks for its name.
    const removal = isMoved ? unlink(draft) : removeFiles(staging, [name]);
    await removal.catch(() => undefined);
  }
}

const NO_HARD_LINKS: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV"]);

/** What a refused link means. Without links two writers could not be kept apart, so there is no fallback. */
export function asUnsupported(error: unknown): StateError | undefined {
  const code = codeOf(error);
  if (!NO_HARD_LINKS.has(code)) return undefined;
  return new StateError(
    "UNSUPPORTED",
    `the file system of the directory refused a hard link (${code}), without which two writers cannot be kept apart. Choose a directory on a local disk, or the sqlite backend`,
    { capability: "conditionalSave", cause: error },
  );
}
