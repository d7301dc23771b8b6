import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, isExecutable, mayInstall, onPath } from "./binaries.ts";

const run = promisify(execFile);

/** A server that is built from its public source by the Go tool. */
export interface GoProgram {
  readonly name: string;
  /** With the version, so that every run has the same server. */
  readonly source: string;
  /** What its published module leaves out and needs: it cannot be installed, and is built from a copy with these. */
  readonly missingFiles?: Readonly<Record<string, string>>;
}

const placeOf = ({ name }: GoProgram): string => fileURLToPath(new URL(`${name}/`, CACHE));

/** Whether it is built already, or can be and may be. Looks; builds nothing. */
export const canHaveGoProgram = async (program: GoProgram): Promise<boolean> =>
  (await isExecutable(join(placeOf(program), program.name))) || (mayInstall() && (await onPath("go")) !== undefined);

/** The program in the cache folder. Built whole or not at all: of two that build at once, the later one's work is thrown away. */
export async function goProgram(program: GoProgram): Promise<string> {
  const place = placeOf(program);
  if (!existsSync(place)) {
    const cache = fileURLToPath(CACHE);
    await mkdir(cache, { recursive: true });
    const work = await mkdtemp(join(cache, `${program.name}-`));
    try {
      await mkdir(join(work, "bin"));
      await build(program, work);
      await rename(join(work, "bin"), place).catch((error: unknown) => {
        if (!existsSync(place)) throw error;
      });
    } finally {
      await rm(work, { recursive: true });
    }
  }
  return join(place, program.name);
}

async function build({ name, source, missingFiles }: GoProgram, work: string): Promise<void> {
  if (missingFiles === undefined) {
    await run("go", ["install", source], { cwd: work, env: { ...process.env, GOBIN: join(work, "bin") } });
    return;
  }
  const [path = "", version] = source.split("@");
  // The path of a module on GitHub has three parts; the rest is the program's folder in it.
  const parts = path.split("/");
  const [module, folder] = [parts.slice(0, 3).join("/"), parts.slice(3).join("/")];
  const { stdout } = await run("go", ["mod", "download", "-json", `${module}@${version}`], { cwd: work });
  const copy = join(work, "source");
  await cp((JSON.parse(stdout) as { readonly Dir: string }).Dir, copy, { recursive: true });
  for (const [file, text] of Object.entries(missingFiles)) {
    const place = join(copy, file);
    await chmod(dirname(place), 0o755);
    await writeFile(place, text);
  }
  await run("go", ["build", "-o", join(work, "bin", name), `./${folder}`], { cwd: copy });
  // Go's modules are read-only, and a folder that is cannot be emptied.
  const entries = await readdir(copy, { recursive: true, withFileTypes: true });
  for (const entry of entries) if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o755);
}
