import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { SourceMap } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { rolldown } from "rolldown";
import { minify } from "rolldown/utils";
import { dts } from "rolldown-plugin-dts";
import { ROOT } from "./packed.ts";

const SOURCES = join(ROOT, "src");

/** They find files of the package two folders above their own address: chunks lie as deep as they do. */
const ADDRESSED = ["cli/version.ts", "studio/page-files.ts"];

/** Says itself why it is in no file with anything else. */
const APART = ["backends/sqlite/store.ts"];

/**
 * What several files share and is smaller goes into the file beside it: 396 files instead of 425. A larger bound makes
 * programs that are bundled load more at their start (3,000: 12 kB for an agent on SQLite).
 */
const SMALLEST_SHARED = 2_500;

/** Two classes of one name in one file: the names of classes appear in messages. */
const RENAMED_CLASS = /(?:var|let|const) \w+\$\d+ = class\b/g;

/**
 * The JavaScript of the package, in few files instead of one for each module: a
 * program that imports it waits for every file. All that `import "holdfast"` loads
 * is one file; what is loaded by `import()` (drivers, providers, commands) keeps a
 * file of its own, so nothing is loaded that was not loaded before.
 */
export async function bundle(folder: string): Promise<{ readonly files: number; readonly atOnce: number }> {
  const core = await loadedByTheRoot();
  const drivers = [...core].filter((path) => /\/backends\/\w+\/(?:log|store-driver)\.ts$/.test(path));
  if (drivers.length > 0) throw new Error(`import "holdfast" would load the drivers ${drivers.join(", ")}`);
  await removeFiles(folder, ".js");
  const bundled = await rolldown({
    input: await entryPoints(),
    platform: "node",
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    // What is kept apart asks for it; `npm run check:surface` finds an entry point that shows more than its source.
    preserveEntrySignatures: "allow-extension",
    // A backend's door is both an entry point and behind `import()`: that is meant.
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await bundled.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    // What has a file of its own keeps its place. Its name tells which build it belongs to: a process that runs while
    // the package is replaced fails to find the file, and never mixes parts of two versions.
    // What several share is not named after all of them: their names, in every import of it, were 30 kB.
    chunkFileNames: ({ facadeModuleId, name }) =>
      facadeModuleId?.startsWith(SOURCES)
        ? relative(SOURCES, facadeModuleId).replace(/\.ts$/, "-[hash].js")
        : `chunks/${name.split("~")[0]}-[hash].js`,
    codeSplitting: {
      groups: [
        { name: "core", test: (id: string) => core.has(id) },
        ...APART.map((path) => ({
          name: basename(path, ".ts"),
          test: (id: string) => id === join(SOURCES, path),
          includeDependenciesRecursively: false,
        })),
        ...ADDRESSED.map((path) => ({ name: basename(path, ".ts"), test: (id: string) => id === join(SOURCES, path) })),
        {
          name: "shared",
          test: (id: string) => id.startsWith(SOURCES),
          minShareCount: 2,
          entriesAware: true,
          entriesAwareMergeThreshold: SMALLEST_SHARED,
        },
      ],
    },
  });
  const chunks = output.filter((file) => file.type === "chunk");
  const misplaced = chunks.filter(
    ({ code, fileName }) => /new URL\("\.\.\//.test(code) && !/^[^/]+\/[^/]+$/.test(fileName),
  );
  if (misplaced.length > 0)
    throw new Error(
      `these find files by their address and are not where they were: ${misplaced.map(({ fileName }) => fileName).join(", ")}`,
    );
  const renamed = chunks.flatMap(({ code }) => code.match(RENAMED_CLASS) ?? []);
  if (renamed.length > 0) throw new Error(`classes have other names in dist: ${renamed.join(", ")}`);
  for (const { fileName } of chunks) await strip(join(folder, fileName));
  return { files: output.length, atOnce: core.size };
}

/**
 * Takes out comments and white space, which are in the declarations and the sources, and gives short names to what is
 * not a class: classes keep theirs, for messages. (The names of functions were 50 kB.)
 */
async function strip(file: string): Promise<void> {
  const keepNames = { function: false, class: true };
  const { code, map, errors } = await minify(file, await readFile(file, "utf8"), {
    module: true,
    compress: { target: "es2023", keepNames },
    mangle: { toplevel: true, keepNames },
    codegen: { removeWhitespace: true, legalComments: "none" },
    sourcemap: true,
  });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  if (map === undefined) throw new Error(`${file}: no source map, so its lines cannot be broken`);
  await writeFile(file, inAscii(inLines(code, new SourceMap({ sourcesContent: [], sourceRoot: "", ...map, file }))));
}

/** About so long are the lines, so that a trace shows the words around a failure and not a whole file. */
const LINE_LENGTH = 300;

/**
 * Breaks lines behind a comma or semicolon that ends something: a segment of the source map begins there, and none lies
 * within a text or a pattern.
 */
function inLines(code: string, map: SourceMap): string {
  const lines = code.split("\n").map((line, index) => {
    const parts: string[] = [];
    let from = 0;
    for (const { index: at } of line.matchAll(/[;,]/g)) {
      const next = at + 1;
      if (next - from < LINE_LENGTH) continue;
      const entry = map.findEntry(index, next);
      if (!("generatedColumn" in entry) || entry.generatedLine !== index || entry.generatedColumn !== next) continue;
      parts.push(line.slice(from, next));
      from = next;
    }
    return [...parts, line.slice(from)].join("\n");
  });
  return lines.join("\n");
}

/** One other letter makes every character of a file take two bytes, and its reading slower. */
const inAscii = (code: string): string =>
  code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The sources behind package.json's exports and its command, by where they lie in dist. */
async function entryPoints(): Promise<Readonly<Record<string, string>>> {
  const { exports, bin } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
    bin: Readonly<Record<string, string>>;
  };
  const exported = Object.values(exports).flatMap((entry) =>
    typeof entry === "string" ? entry : Object.values(entry),
  );
  const names = [...exported, ...Object.values(bin)].flatMap((path) => /^\.\/dist\/(.*)\.js$/.exec(path)?.[1] ?? []);
  return Object.fromEntries(names.map((name) => [name, join(SOURCES, `${name}.ts`)]));
}

/** Every source that the root imports by a statement, however deep. */
export async function loadedByTheRoot(): Promise<ReadonlySet<string>> {
  const { metafile } = await build({
    entryPoints: [join(SOURCES, "index.ts")],
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    metafile: true,
    write: false,
    absWorkingDir: ROOT,
  });
  const reached = new Set(["src/index.ts"]);
  for (const path of reached) {
    for (const { path: next, kind, external } of metafile.inputs[path]?.imports ?? []) {
      if (kind === "import-statement" && external !== true) reached.add(next);
    }
  }
  return new Set([...reached].map((path) => join(ROOT, path)));
}

/**
 * One file of declarations for each entry point, and what several share once, in `types/`: of what tsc wrote one by one,
 * two thirds can be reached from no entry point. Returns how many files there are.
 */
export async function bundleDeclarations(folder: string): Promise<number> {
  const names = Object.keys(await entryPoints());
  const core = await declaredByTheRoot(join(folder, "index.d.ts"));
  const bundled = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(folder, `${name}.d.ts`)])),
    platform: "node",
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    // They come from tsc, and are read as text: no compiler is asked once more.
    plugins: [dts({ dtsInput: true, oxc: true, tsconfig: false })],
  });
  const { output } = await bundled.generate({
    format: "esm",
    entryFileNames: "[name].d.ts",
    chunkFileNames: "types/[name]-[hash].d.ts",
    // Two short names for each export are longer than its own.
    minifyInternalExports: false,
    codeSplitting: { groups: [{ name: "core", test: (id) => core.has(id) }] },
  });
  await removeFiles(folder, ".d.ts");
  for (const file of output) {
    const path = join(folder, file.fileName);
    await mkdir(dirname(path), { recursive: true });
    const text = file.type === "chunk" ? file.code : String(file.source);
    // Without the bundler's notes of where a part was, and a tab for each two spaces of indentation.
    await writeFile(
      path,
      text.replace(/^\/\/ dist\/.*\n/gm, "").replace(/^(?: {2})+/gm, (deep) => "\t".repeat(deep.length / 2)),
    );
  }
  return output.length;
}

/** Every declaration that those of the root name, however deep: all in one file, as its JavaScript is. */
async function declaredByTheRoot(root: string): Promise<ReadonlySet<string>> {
  const reached = new Set([root]);
  for (const path of reached) {
    const text = await readFile(path, "utf8");
    for (const [, next = ""] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.(?:js|ts)"/g)) {
      reached.add(`${join(dirname(path), next)}.d.ts`);
    }
  }
  return reached;
}

/** Those that tsc wrote one by one. */
async function removeFiles(folder: string, ending: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith(ending)) await rm(join(entry.parentPath, entry.name));
  }
}
