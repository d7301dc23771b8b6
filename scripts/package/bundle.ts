import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { build, transform } from "esbuild";
import { rolldown } from "rolldown";
import { minify } from "rolldown/utils";
import { dts } from "rolldown-plugin-dts";
import { ROOT } from "./packed.ts";

const SOURCES = join(ROOT, "src");

/** They find files of the package two folders above their own address: chunks lie as deep as they do. */
const ADDRESSED = ["cli/version.ts", "studio/page-files.ts"];

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
    // A backend's door is both an entry point and behind `import()`: that is meant.
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await bundled.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    // What has a file of its own keeps its place. Its name tells which build it belongs to: a process that runs while
    // the package is replaced fails to find the file, and never goes on with the parts of two versions.
    chunkFileNames: ({ facadeModuleId }) =>
      facadeModuleId?.startsWith(SOURCES)
        ? relative(SOURCES, facadeModuleId).replace(/\.ts$/, "-[hash].js")
        : "chunks/[name]-[hash].js",
    codeSplitting: {
      groups: [
        { name: "core", test: (id: string) => core.has(id) },
        ...ADDRESSED.map((path) => ({ name: basename(path, ".ts"), test: (id: string) => id === join(SOURCES, path) })),
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
 * local to a function. Functions, classes and what a module declares keep their names, for stack traces and messages.
 * All is written in ASCII: one other letter makes every character of a file take two bytes, and its reading slower.
 */
async function strip(file: string): Promise<void> {
  const given = await readFile(file, "utf8");
  const { code: short, errors } = await minify(file, given, {
    module: true,
    compress: { target: "es2023", keepNames: { function: true, class: true } },
    mangle: { toplevel: false, keepNames: true },
    codegen: { removeWhitespace: true, legalComments: "none" },
  });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  // Lines of this length, so that a trace shows the words around a failure and not a whole file.
  const { code } = await transform(short, { charset: "ascii", minifyWhitespace: true, lineLimit: 120 });
  await writeFile(file, withClassNames(given, code));
}

/** esbuild gives a class expression that names itself another name, `A = class A2`; its name appears in messages. */
function withClassNames(given: string, stripped: string): string {
  let code = stripped;
  for (const [, name = "", other = ""] of stripped.matchAll(/(?:var|let|const) (\w+) = class (\1\d+)\b/g)) {
    const uses = new RegExp(`\\b${other}\\b`, "g");
    if (uses.test(given)) throw new Error(`${name} is called ${other} in dist, and something else is called that too`);
    code = code.replace(uses, name);
  }
  return code;
}

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
  });
  await removeFiles(folder, ".d.ts");
  for (const file of output) {
    const path = join(folder, file.fileName);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, file.type === "chunk" ? file.code : file.source);
  }
  return output.length;
}

/** Those that tsc wrote one by one. */
async function removeFiles(folder: string, ending: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith(ending)) await rm(join(entry.parentPath, entry.name));
  }
}
