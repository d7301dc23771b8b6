import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ProgramProcess } from "../processes/programs.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The programs of this folder as JavaScript: a child then starts in a fraction of the time. */
export class AgentPrograms {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async compile(): Promise<AgentPrograms> {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-agents-"));
    await writeFile(join(directory, "package.json"), '{ "type": "module" }');
    await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"), "dir");
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    await promisify(execFile)(process.execPath, [compiler, "-p", HERE, "--outDir", directory]);
    return new AgentPrograms(directory);
  }

  start(program: "dying-agent" | "rival-agent", args: readonly string[]): ProgramProcess {
    return new ProgramProcess(join(this.#directory, "test", "crash", `${program}.js`), args);
  }

  dispose(): Promise<void> {
    return rm(this.#directory, { recursive: true, force: true });
  }
}
