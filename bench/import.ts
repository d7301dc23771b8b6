/**
 * What `import "holdfast"` adds to a program: the built package, imported by a
 * process of its own, in turns with an empty program. The package is built first,
 * so that the figure is that of the sources as they are.
 */
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { loadedByTheRoot } from "../scripts/package/bundle.ts";
import { addedByImport } from "../scripts/package/import-time.ts";
import { ROOT } from "../scripts/package/packed.ts";
import { keepLimits, limit } from "./limits.ts";
import { kilobytes, milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const TURNS = 40;
const MOST_MS = 25;

export interface ImportResult {
  readonly emptyMs: number;
  readonly importedMs: number;
  /** The difference of the medians. */
  readonly addedMs: number;
  /** Sources that are loaded at once, and how long they are. */
  readonly modules: number;
  readonly sourceBytes: number;
  readonly verdicts: readonly Verdict[];
}

export async function benchImport(): Promise<ImportResult> {
  execFileSync("npm", ["run", "--silent", "build"], { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  const sources = [...(await loadedByTheRoot())];
  const sourceBytes = sources.reduce((sum, path) => sum + statSync(path).size, 0);
  const { emptyMs, importedMs, wallMs: addedMs } = addedByImport(TURNS);
  const size = `${sources.length} modules, ${kilobytes(sourceBytes)} of source`;
  const rows = [
    ["an empty program", milliseconds(emptyMs)],
    ['import "holdfast"', milliseconds(importedMs)],
    ["added", milliseconds(addedMs)],
  ];
  console.log(`\n${renderTable([`median of ${TURNS}; ${size}`, "from start to exit"], rows)}`);
  const met = addedMs <= MOST_MS;
  keepLimits("import", [limit('import "holdfast"', `${addedMs.toFixed(1)} ms`, met, size)]);
  const verdicts = [
    verdict(
      `import "holdfast" adds at most ${MOST_MS} ms to an empty program`,
      MOST_MS,
      addedMs,
      milliseconds(addedMs),
    ),
  ];
  return { emptyMs, importedMs, addedMs, modules: sources.length, sourceBytes, verdicts };
}
