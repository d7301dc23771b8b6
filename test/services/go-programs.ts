import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, isExecutable, mayInstall, onPath } from "./binaries.ts";

const run = promisify(execFile);

/** A server that is built from its public source by the Go tool. */
export interface GoProgram {
  readonly name: string;
  /** With the version, so that every run has the same server. */
  readonly source: string;
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
      await run("go", ["install", program.source], { cwd: work, env: { ...process.env, GOBIN: join(work, "bin") } });
      await rename(join(work, "bin"), place).catch((error: unknown) => {
        if (!existsSync(place)) throw error;
      });
    } finally {
      await rm(work, { recursive: true });
    }
  }
  return join(place, program.name);
}
