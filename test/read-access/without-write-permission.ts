import { chmod, lstat, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";

const UNPRIVILEGED = 65_534;

/**
 * Runs `work` while this process may read the directory and everything below it, and
 * may write nothing there. The system's administrator may write whatever the modes say,
 * so a test that runs as one switches to another user meanwhile.
 */
export async function withoutWritePermission(directory: string, work: () => Promise<void>): Promise<void> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = [directory, ...entries.map((entry) => join(entry.parentPath, entry.name))];
  const modes = new Map<string, number>();
  for (const path of paths) {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) continue;
    modes.set(path, stats.mode);
    await chmod(path, stats.isDirectory() ? 0o555 : 0o444);
  }
  const isAdministrator = process.geteuid?.() === 0;
  if (isAdministrator) process.seteuid?.(UNPRIVILEGED);
  try {
    await expect(writeFile(join(directory, "a write"), "")).rejects.toMatchObject({ code: "EACCES" });
    await work();
  } finally {
    if (isAdministrator) process.seteuid?.(0);
    for (const [path, mode] of modes) await chmod(path, mode & 0o777).catch(() => undefined);
  }
}
