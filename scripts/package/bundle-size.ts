import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Metafile } from "esbuild";
import { ROOT } from "./packed.ts";

export interface BundleSize {
  /** The entry and every chunk that it imports by a statement, however deep. Chunks behind `import()` wait. */
  readonly atStart: number;
  readonly inAll: number;
  /** Without splitting, whatever is loaded later is in it. */
  readonly oneFile: number;
}

const PROGRAMS = {
  Agent: 'import { Agent } from "holdfast"; console.log(Agent);',
  "Agent and holdfast/sqlite":
    'import { Agent } from "holdfast"; import { sqliteCheckpointer } from "holdfast/sqlite"; console.log(Agent, sqliteCheckpointer);',
} as const;

/** The built package in programs of its users. */
export async function bundleSizes(): Promise<Readonly<Record<keyof typeof PROGRAMS, BundleSize>>> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-bundle-"));
  try {
    await mkdir(join(folder, "node_modules"));
    await symlink(ROOT, join(folder, "node_modules", "holdfast"));
    const sizes: [string, BundleSize][] = [];
    for (const [name, program] of Object.entries(PROGRAMS)) sizes.push([name, await sizeOf(program, folder)]);
    return Object.fromEntries(sizes) as Record<keyof typeof PROGRAMS, BundleSize>;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function sizeOf(program: string, folder: string): Promise<BundleSize> {
  const { peerDependencies } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    peerDependencies: Readonly<Record<string, string>>;
  };
  const bundled = async (splitting: boolean): Promise<Metafile["outputs"]> => {
    const { metafile } = await build({
      stdin: { contents: program, resolveDir: folder, sourcefile: "program.mjs" },
      absWorkingDir: folder,
      outdir: "out",
      bundle: true,
      minify: true,
      splitting,
      format: "esm",
      platform: "node",
      external: Object.keys(peerDependencies),
      metafile: true,
      write: false,
      logLevel: "error",
    });
    return metafile.outputs;
  };
  const split = await bundled(true);
  return {
    atStart: bytesOf(split, loadedAtStart(split)),
    inAll: bytesOf(split, Object.keys(split)),
    oneFile: bytesOf(await bundled(false)),
  };
}

/** `begin`: the output of the program itself, where a bundle has several entry points. */
export function loadedAtStart(outputs: Metafile["outputs"], begin: RegExp = ENTRY): readonly string[] {
  const reached = new Set(Object.keys(outputs).filter((path) => begin.test(outputs[path]?.entryPoint ?? "")));
  for (const path of reached) {
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && outputs[next] !== undefined) reached.add(next);
    }
  }
  if (reached.size === 0) throw new Error("the program is in no output of the bundle");
  return [...reached];
}

const ENTRY = /(?:^|:)program\.mjs$/;

const bytesOf = (outputs: Metafile["outputs"], paths: readonly string[] = Object.keys(outputs)): number =>
  paths.reduce((sum, path) => sum + (outputs[path]?.bytes ?? 0), 0);
