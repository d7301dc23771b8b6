import { readFile } from "node:fs/promises";
import { posix } from "node:path";

const ROOT = new URL("../", import.meta.url);

/** Statements at the beginning of a line, as the formatter leaves them; those that only bring types are gone at run time. */
const STATIC_IMPORT = /^(?:import|export)\s+(?!type\b)(?:[^;"]*?\sfrom\s+)?"(\.[^"]+)";$/gm;

/** The sources that are loaded when `entry` is imported, before anything is called: without those behind `import()`. */
export async function staticClosure(entry: string): Promise<readonly string[]> {
  const reached = new Set([entry]);
  for (const path of reached) {
    const text = await readFile(new URL(path, ROOT), "utf8");
    for (const [, specifier = ""] of text.matchAll(STATIC_IMPORT)) {
      reached.add(posix.join(posix.dirname(path), specifier));
    }
  }
  return [...reached].sort();
}
