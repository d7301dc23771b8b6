import { createHash } from "node:crypto";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join, relative } from "node:path";

/** Every name below a directory with the hash of what is there, and when it was last changed. Empty where it does not exist. */
export async function hashedFiles(
  directory: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === "ENOENT") return [];
    throw error;
  });
  const found: Record<string, string> = {};
  for (const entry of names) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(directory, path);
    if (!isWanted(name)) continue;
    const { mtimeMs } = await lstat(path);
    const content = entry.isFile() ? hashOf(await readFile(path)) : entry.isSymbolicLink() ? await readlink(path) : "";
    found[name] = `${content} ${mtimeMs}`;
  }
  return found;
}

export const hashOf = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");
