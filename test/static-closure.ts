import { readFile } from "node:fs/promises";
import { posix } from "node:path";

const ROOT = new URL("../", import.meta.url);

/** Statements at the beginning of a line, as the formatter leaves them; those that only bring types are gone at run time. */
const STATIC_IMPORT = /^(?:import|export)\s+(?!type\b)(?:[^;"]*?\sfrom\s+)?"(\.[^"]+)";$/gm;

const imported = new Map<string, readonly string[]>();

/** What one source imports, read once for all closures. */
async function importedBy(path: string): Promise<readonly string[]> {
  const known = imported.get(path);
  if (known !== undefined) return known;
  const found = [...(await readFile(new URL(path, ROOT), "utf8")).matchAll(STATIC_IMPORT)];
  const paths = found.map(([, specifier = ""]) => posix.join(posix.dirname(path), specifier));
  imported.set(path, paths);
  return paths;
}

/** The sources that are loaded when `entry` is imported, before anything is called: without those behind `import()`. */
export async function staticClosure(entry: string): Promise<readonly string[]> {
  const reached = new Set([entry]);
  for (const path of reached) {
    for (const each of await importedBy(path)) reached.add(each);
  }
  return [...reached].sort();
}
