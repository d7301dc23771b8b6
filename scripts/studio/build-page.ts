import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = join(ROOT, "src/studio/page");

/** What is bundled into the page: their licences go along. */
const BUNDLED = ["preact", "@preact/signals", "@preact/signals-core", "diff"];

export interface BuiltPage {
  readonly folder: string;
  /** Of all files together. */
  readonly packedBytes: number;
}

/**
 * The whole page as a few files that load nothing from elsewhere; the same sources give the same bytes.
 */
export async function buildStudio(folder: string = join(ROOT, "dist/studio/page")): Promise<BuiltPage> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const result = await build({
    entryPoints: [join(PAGE, "main.tsx"), join(PAGE, "styles/studio.css")],
    outdir: folder,
    entryNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    metafile: true,
    absWorkingDir: ROOT,
    tsconfig: join(PAGE, "tsconfig.json"),
  });
  const names = Object.keys(result.metafile.outputs).map((path) => basename(path));
  const script = names.find((name) => name.endsWith(".js")) ?? "";
  const style = names.find((name) => name.endsWith(".css")) ?? "";
  const html = await readFile(join(PAGE, "index.html"), "utf8");
  await writeFile(join(folder, "index.html"), html.replace("main.js", script).replace("studio.css", style));
  await writeFile(join(folder, "icon.svg"), await readFile(join(PAGE, "icon.svg")));
  await writeFile(join(folder, "LICENSES.txt"), await licences());
  for (const name of [script, style]) await pack(join(folder, name));
  return { folder, packedBytes: await packedBytesOf(folder) };
}

/** As browsers are sent it: a third of its size on the disk. */
async function pack(file: string): Promise<void> {
  await writeFile(`${file}.gz`, gzipSync(await readFile(file), { level: 9 }));
  await rm(file);
}

/** What a browser is sent for all files of a page. */
export async function packedBytesOf(folder: string): Promise<number> {
  let sum = 0;
  for (const name of await readdir(folder)) {
    const bytes = await readFile(join(folder, name));
    sum += (name.endsWith(".gz") ? bytes : gzipSync(bytes, { level: 9 })).length;
  }
  return sum;
}

async function licences(): Promise<string> {
  const parts: string[] = [];
  for (const name of BUNDLED) {
    const folder = join(ROOT, "node_modules", name);
    const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { version: string };
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    parts.push(`${name} ${version}\n\n${(await readFile(join(folder, file), "utf8")).trim()}\n`);
  }
  return parts.join("\n----------------------------------------\n\n");
}
