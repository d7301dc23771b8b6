/**
 * What `import "holdfast"` adds to a program: the built package, imported by a
 * process of its own, in turns with an empty program. The package is built first,
 * so that the figure is that of the sources as they are.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadedByTheRoot } from "../scripts/package/bundle.ts";
import { ROOT } from "../scripts/package/packed.ts";
import { keepLimits, limit } from "./limits.ts";
import { median } from "./statistics.ts";
import { kilobytes, milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const PROGRAMS = { empty: "", imported: 'import "holdfast";\n' } as const;
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
  const [emptyMs, importedMs] = inTurns();
  const addedMs = importedMs - emptyMs;
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

/** The medians of both. They take turns: what comes and goes on the machine meets both. */
function inTurns(): readonly [number, number] {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-import-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(ROOT, join(folder, "node_modules", "holdfast"));
    for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, `${name}.mjs`), text);
    const run = (name: keyof typeof PROGRAMS): number => {
      const begun = performance.now();
      execFileSync(process.execPath, [`${name}.mjs`], { cwd: folder, env: {} });
      return performance.now() - begun;
    };
    const times = { empty: [] as number[], imported: [] as number[] };
    for (let turn = -2; turn < TURNS; turn++) {
      const [empty, imported] = [run("empty"), run("imported")];
      // The first two bring the files into the system's memory.
      if (turn >= 0) times.empty.push(empty);
      if (turn >= 0) times.imported.push(imported);
    }
    return [median(times.empty), median(times.imported)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
