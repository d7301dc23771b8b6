import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, isExecutable, isRoot, mayInstall, onPath } from "./binaries.ts";

const run = promisify(execFile);

export interface DebianPackage {
  /** Of its folder in the cache. */
  readonly name: string;
  readonly packages: readonly string[];
  /** Where the program is in it: `usr/bin/redis-server`. */
  readonly program: string;
}

/** Whether it is unpacked, or can be. */
export async function canUnpack({ name, program }: DebianPackage): Promise<boolean> {
  if (await isExecutable(join(placeOf(name), program))) return true;
  return mayInstall() && isRoot() && (await onPath("apt-get")) !== undefined;
}

/**
 * A program of Debian's, downloaded with what it needs and unpacked into the cache
 * folder: nothing is installed, and no service of the machine's is started.
 */
export async function unpacked(
  wanted: DebianPackage,
): Promise<{ program: string; environment: NodeJS.ProcessEnv } | undefined> {
  const place = placeOf(wanted.name);
  const program = join(place, wanted.program);
  if (!(await isExecutable(program))) {
    if (!(await canUnpack(wanted))) return undefined;
    await unpack(wanted, place);
  }
  // Only libraries that the machine lacks are there; it may lack none.
  const libraries = await readdir(join(place, "usr/lib"), { withFileTypes: true }).catch(() => []);
  const folders = libraries.filter((entry) => entry.isDirectory()).map(({ name }) => join(place, "usr/lib", name));
  return { program, environment: { LD_LIBRARY_PATH: folders.join(":") } };
}

const placeOf = (name: string): string => fileURLToPath(new URL(`${name}/`, CACHE));

/** Whole or not at all: two that unpack at once both succeed, and the later one's work is thrown away. */
async function unpack({ name, packages }: DebianPackage, place: string): Promise<void> {
  const cache = fileURLToPath(CACHE);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, `${name}-`));
  try {
    const [lists, archives, target] = [join(work, "lists"), join(work, "archives"), join(work, "root")];
    await mkdir(join(lists, "partial"), { recursive: true });
    await mkdir(join(archives, "partial"), { recursive: true });
    const options = [`Dir::State::lists=${lists}`, `Dir::Cache::archives=${archives}`, "Dir::Cache::pkgcache="]
      .concat(["Dir::Cache::srcpkgcache=", "APT::Sandbox::User=root", "Acquire::Languages=none", "Debug::NoLocking=1"])
      .flatMap((option) => ["-o", option]);
    await run("apt-get", ["-qq", ...options, "update"]);
    const wanted = ["--download-only", "--no-install-recommends", "--reinstall", ...packages];
    await run("apt-get", ["-qq", "-y", ...options, "install", ...wanted]);
    const found = (await readdir(archives)).filter((archive) => archive.endsWith(".deb"));
    for (const archive of found) await run("dpkg", ["-x", join(archives, archive), target]);
    await rename(target, place).catch((error: unknown) => {
      if (!existsSync(place)) throw error;
    });
  } finally {
    await rm(work, { recursive: true });
  }
}
