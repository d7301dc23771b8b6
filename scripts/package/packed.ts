import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT: string = fileURLToPath(new URL("../../", import.meta.url));

/** What a command printed; its complaints go to ours. */
export const run = (command: string, args: readonly string[], cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

export interface PackedTarball {
  readonly tarball: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly paths: readonly string[];
  /** For everything that is made from it; gone in the end. */
  readonly folder: string;
}

/** The package as its users get it, packed into a folder that is removed afterwards. */
export async function withTarball(work: (packed: PackedTarball) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-package-"));
  try {
    const [packed] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", folder], ROOT)) as [
      { filename: string; size: number; unpackedSize: number; files: readonly { path: string }[] },
    ];
    const paths = packed.files.map(({ path }) => path);
    await work({
      tarball: join(folder, packed.filename),
      size: packed.size,
      unpackedSize: packed.unpackedSize,
      paths,
      folder,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** An empty project with these packages installed, next to the tarball. */
export async function projectWith(
  { folder }: PackedTarball,
  name: string,
  packages: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const project = join(folder, name);
  await mkdir(project, { recursive: true });
  await writeFile(join(project, "package.json"), JSON.stringify({ name, private: true, type: "module" }));
  if (packages.length > 0) run("npm", ["install", "--silent", "--no-audit", "--no-fund", ...packages], project);
  for (const [path, text] of Object.entries(files)) await writeFile(join(project, path), text);
  return project;
}
