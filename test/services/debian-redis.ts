import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, isExecutable, isRoot, onPath } from "./binaries.ts";

const run = promisify(execFile);
const PLACE = fileURLToPath(new URL("redis/", CACHE));

/**
 * Debian's Redis, downloaded with what it needs and unpacked into the cache
 * folder: nothing is installed, and no service of the machine's is started.
 */
export async function unpackedRedis(): Promise<{ program: string; environment: NodeJS.ProcessEnv } | undefined> {
  const program = join(PLACE, "usr/bin/redis-server");
  if (!(await isExecutable(program))) {
    if (!isRoot() || (await onPath("apt-get")) === undefined) return undefined;
    await unpack();
  }
  // Only libraries that the machine lacks are there; it may lack none.
  const libraries = await readdir(join(PLACE, "usr/lib"), { withFileTypes: true }).catch(() => []);
  const folders = libraries.filter((entry) => entry.isDirectory()).map(({ name }) => join(PLACE, "usr/lib", name));
  return { program, environment: { LD_LIBRARY_PATH: folders.join(":") } };
}

/** Whole or not at all: two that unpack at once both succeed, and the later one's work is thrown away. */
async function unpack(): Promise<void> {
  const cache = fileURLToPath(CACHE);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, "redis-"));
  try {
    const [lists, archives, target] = [join(work, "lists"), join(work, "archives"), join(work, "root")];
    await mkdir(join(lists, "partial"), { recursive: true });
    await mkdir(join(archives, "partial"), { recursive: true });
    const options = [`Dir::State::lists=${lists}`, `Dir::Cache::archives=${archives}`, "Dir::Cache::pkgcache="]
      .concat(["Dir::Cache::srcpkgcache=", "APT::Sandbox::User=root", "Acquire::Languages=none", "Debug::NoLocking=1"])
      .flatMap((option) => ["-o", option]);
    await run("apt-get", ["-qq", ...options, "update"]);
    const wanted = ["--download-only", "--no-install-recommends", "--reinstall", "redis-server", "redis-tools"];
    await run("apt-get", ["-qq", "-y", ...options, "install", ...wanted]);
    const packages = (await readdir(archives)).filter((name) => name.endsWith(".deb"));
    for (const name of packages) await run("dpkg", ["-x", join(archives, name), target]);
    await rename(target, PLACE).catch((error: unknown) => {
      if (!existsSync(PLACE)) throw error;
    });
  } finally {
    await rm(work, { recursive: true });
  }
}
