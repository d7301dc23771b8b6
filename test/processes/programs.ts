import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { wideIsInstalled } from "../wide/installed.ts";

/** Clients of the widest tests, for a process that is started from a folder of its own. */
const WITH_PACKAGES_OF_WIDE = wideIsInstalled
  ? ["--import", new URL("../wide/fallback.mjs", import.meta.url).href]
  : [];

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The programs of this folder as JavaScript: a child then starts in a fraction of the time. */
export class Programs {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async compile(): Promise<Programs> {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-programs-"));
    await writeFile(join(directory, "package.json"), '{ "type": "module" }');
    await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"), "dir");
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    await promisify(execFile)(process.execPath, [compiler, "-p", HERE, "--outDir", directory]);
    return new Programs(directory);
  }

  /**
   * One program with all that it imports in one file, for one whose many modules
   * cost most of its life. What is compiled for the machine stays outside.
   */
  static async bundle(program: string): Promise<Programs> {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-programs-"));
    await writeFile(join(directory, "package.json"), '{ "type": "module" }');
    await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"), "dir");
    await build({
      entryPoints: [join(HERE, `${program}.ts`)],
      outfile: join(directory, "test", "processes", `${program}.js`),
      bundle: true,
      minify: true,
      platform: "node",
      format: "esm",
      external: ["better-sqlite3", "pg"],
      // Packages in the older form ask for Node's own modules with `require`.
      banner: { js: 'import { createRequire as from } from "node:module"; const require = from(import.meta.url);' },
    });
    return new Programs(directory);
  }

  /**
   * One program with all of ours that it imports in few files: what it loads only
   * when it is needed stays apart, and packages stay where they are installed.
   */
  static async pack(program: string): Promise<Programs> {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-programs-"));
    await writeFile(join(directory, "package.json"), '{ "type": "module" }');
    await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"), "dir");
    await build({
      entryPoints: [join(HERE, `${program}.ts`)],
      outdir: join(directory, "test", "processes"),
      bundle: true,
      splitting: true,
      platform: "node",
      format: "esm",
      packages: "external",
    });
    return new Programs(directory);
  }

  start(program: string, args: readonly string[]): ProgramProcess {
    return new ProgramProcess(this.pathOf(program), args);
  }

  pathOf(program: string): string {
    return join(this.#directory, "test", "processes", `${program}.js`);
  }

  async dispose(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running program that says what it does, one JSON value a line, on its standard output. */
export class ProgramProcess {
  readonly #child: ChildProcess;
  readonly #said: unknown[] = [];
  readonly #ended: Promise<ProgramEnd>;
  #onLine: () => void = () => undefined;

  constructor(path: string, args: readonly string[]) {
    this.#child = fork(path, args, { stdio: ["ignore", "pipe", "inherit", "ipc"], execArgv: WITH_PACKAGES_OF_WIDE });
    // "close" comes when the pipe is read to its end: a line that was written before a kill is never missed.
    this.#ended = once(this.#child, "close").then(([code, signal]) => ({ code, signal }));
    createInterface({ input: this.#child.stdout! }).on("line", (line) => {
      this.#said.push(JSON.parse(line));
      this.#onLine();
    });
    this.#child.on("close", () => this.#onLine());
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Everything it has said so far. */
  get said(): readonly unknown[] {
    return this.#said;
  }

  /** Waits until it has said `count` things, or has ended. */
  async hasSaid(count: number): Promise<void> {
    while (this.#said.length < count && this.#child.exitCode === null && this.#child.signalCode === null) {
      await new Promise<void>((resolve) => (this.#onLine = resolve));
    }
  }

  tell(message: string): void {
    this.#child.send(message);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  ended(): Promise<ProgramEnd> {
    return this.#ended;
  }
}
