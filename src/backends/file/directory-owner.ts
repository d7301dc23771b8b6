import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { threadDirectoryName } from "./layout.ts";
import type { RootDirectory } from "./root.ts";
import { logsIn } from "./thread-directory.ts";

/** Every file of a thread begins with its id, within this many bytes. */
const BEGINNING = 16 * 1024;
const MOST_FILES = 8;
const ID = /"thread": ?("(?:[^"\\]|\\.){1,8192}")/;

/**
 * The id of a thread whose newest record cannot be read, from any file of it that
 * still says one. It is certain: the directory is named after a hash of the id.
 */
export async function ownerOf(root: RootDirectory, threadDirectory: string): Promise<string | undefined> {
  try {
    for (const { path } of await logsIn(root, threadDirectory)) {
      const files = (await readdir(path)).filter((name) => name.endsWith(".json")).sort();
      for (const name of files.reverse().slice(0, MOST_FILES)) {
        const threadId = idIn(await beginningOf(join(path, name)));
        if (threadId !== undefined && threadDirectoryName(threadId) === threadDirectory) return threadId;
      }
    }
  } catch {
    // That it is damaged is known already. It goes without its name.
  }
  return undefined;
}

async function beginningOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(BEGINNING), 0, BEGINNING, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

function idIn(text: string): string | undefined {
  const [, literal] = ID.exec(text) ?? [];
  const found: unknown = literal === undefined ? undefined : JSON.parse(literal);
  return typeof found === "string" ? found : undefined;
}
