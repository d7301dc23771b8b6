import { constants } from "node:fs";
import { access, readFile, stat } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import type { SystemUser } from "./server-process.ts";

/** Where nothing of ours but what can be made again lies; git does not see it. */
export const CACHE: URL = new URL("../../.cache/", import.meta.url);

/**
 * Tests never install: what is not here is got by `npm run services:install`, which sets this, and by the commands that
 * a person starts to have a server.
 */
export const mayInstall = (): boolean => process.env["HOLDFAST_INSTALL"] === "1";

export const isRoot = (): boolean => process.getuid?.() === 0;

/** The first of these programs that PATH leads to. */
export async function onPath(...names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
      const path = join(folder, name);
      if (await isExecutable(path)) return path;
    }
  }
  return undefined;
}

export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * For programs that refuse to run as root: another user of this machine, when the tests run as
 * root.
 */
export async function unprivilegedUser(...names: readonly string[]): Promise<SystemUser | undefined> {
  if (!isRoot()) return undefined;
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  for (const name of names) {
    const line = lines.find(([user]) => user === name);
    if (line !== undefined) return { uid: Number(line[2]), gid: Number(line[3]) };
  }
  throw new Error(`running as root, and none of the users ${names.join(", ")} exists to start the server as`);
}

/**
 * Whether every user may walk to it: a home folder of root's is closed to the user that a server runs as.
 */
export async function isOpenToAll(path: string): Promise<boolean> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
