/**
 * `npm run check:surface [-- --built]`: what users of the package see and pay. The exports of every entry point, values
 * and types; what `import "holdfast"` adds to an empty program; and how much of a program that names `Agent` and one
 * backend is loaded at its start when it is bundled. Builds the package first, unless it is told that it is built.
 * Fails above the bounds, and where an entry point shows a value that its source does not export.
 */
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { renderTable } from "../bench/table.ts";
import { bundleSizes } from "./package/bundle-size.ts";
import { addedByImport } from "./package/import-time.ts";
import { ROOT } from "./package/packed.ts";

const MOST_VALUES = 45;
const MOST_TYPES = 60;
/** Processor time, because other load on the machine does not change it. */
const MOST_IMPORT_MS = 25;
const MOST_START_BYTES = 250_000;

const { values: given } = parseArgs({ options: { built: { type: "boolean", default: false } } });
if (!given.built)
  execFileSync("npm", ["run", "--silent", "build"], { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });

const faults: string[] = [];

interface EntryPoint {
  readonly name: string;
  readonly values: number;
  readonly types: number;
}

async function entryPoint(
  name: string,
  { default: path, types }: { default: string; types: string },
): Promise<EntryPoint> {
  const shown = Object.keys(await load(path)).sort();
  const source = Object.keys(await load(path.replace("/dist/", "/src/").replace(/js$/, "ts"))).sort();
  if (shown.join() !== source.join())
    faults.push(`${name} exports ${shown.join(", ")}; its source ${source.join(", ")}`);
  const declared = exportsIn(await readFile(join(ROOT, types), "utf8"));
  for (const value of shown) if (!declared.has(value)) faults.push(`${name} declares no ${value}`);
  return { name, values: shown.length, types: declared.size - shown.length };
}

const load = (path: string) => import(pathToFileURL(join(ROOT, path)).href) as Promise<object>;

/** The names in the one list that a bundled declaration ends with. */
function exportsIn(text: string): ReadonlySet<string> {
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, list = ""]) => list);
  const names = lists.flatMap((list) => list.split(",").map((each) => each.trim().replace(/^type /, "")));
  return new Set(names.filter((name) => name !== "").map((name) => name.split(" as ").at(-1) ?? name));
}

const { exports } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
  exports: Readonly<Record<string, { default: string; types: string } | string>>;
};
const points: EntryPoint[] = [];
for (const [name, entry] of Object.entries(exports)) {
  if (typeof entry !== "string") points.push(await entryPoint(name.replace(/^\./, "holdfast"), entry));
}
console.log(
  renderTable(
    ["exports", "values", "types"],
    points.map(({ name, ...counts }) => [name, String(counts.values), String(counts.types)]),
  ),
);
const root = points.find(({ name }) => name === "holdfast");
if (root === undefined || root.values > MOST_VALUES || root.types > MOST_TYPES)
  faults.push(`the root exports more than ${MOST_VALUES} values or ${MOST_TYPES} types`);

const { cpuMs, wallMs, emptyMs } = addedByImport();
console.log(
  `\nimport "holdfast" adds ${cpuMs.toFixed(1)} ms of the processor and ${wallMs.toFixed(1)} ms from start to exit to an empty program of ${emptyMs.toFixed(1)} ms (medians; at most ${MOST_IMPORT_MS})`,
);
if (cpuMs > MOST_IMPORT_MS) faults.push(`import "holdfast" adds ${cpuMs.toFixed(1)} ms; at most ${MOST_IMPORT_MS}`);

const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;
console.log("\nbundled by esbuild, minified, clients outside:");
for (const [program, { atStart, inAll, oneFile }] of Object.entries(await bundleSizes())) {
  console.log(
    `  ${program}: ${kilobytes(atStart)} at its start, ${kilobytes(inAll)} in all; as one file ${kilobytes(oneFile)}`,
  );
  if (atStart > MOST_START_BYTES)
    faults.push(`${program}: ${kilobytes(atStart)} at its start; at most ${kilobytes(MOST_START_BYTES)}`);
}

for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
