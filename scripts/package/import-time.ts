import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../../bench/statistics.ts";
import { ROOT } from "./packed.ts";

/** Each ends with what it took of the processor, which a busy machine changes little. */
const TELL = "process.stdout.write(String(process.cpuUsage().user + process.cpuUsage().system));\n";
const PROGRAMS = { empty: TELL, imported: `import "holdfast";\n${TELL}` } as const;
const TURNS = 40;

export interface AddedByImport {
  readonly emptyMs: number;
  readonly importedMs: number;
  /** The differences of the medians: from start to exit, and of the processor. */
  readonly wallMs: number;
  readonly cpuMs: number;
}

/**
 * What `import "holdfast"` adds to an empty program. They alternate, so that other load on the machine affects both.
 */
export function addedByImport(turns: number = TURNS): AddedByImport {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-import-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(ROOT, join(folder, "node_modules", "holdfast"));
    for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, `${name}.mjs`), text);
    const run = (name: keyof typeof PROGRAMS): readonly [wall: number, cpu: number] => {
      const begun = performance.now();
      const told = execFileSync(process.execPath, [`${name}.mjs`], { cwd: folder, env: {}, encoding: "utf8" });
      return [performance.now() - begun, Number(told) / 1000];
    };
    const times = { empty: [] as (readonly [number, number])[], imported: [] as (readonly [number, number])[] };
    for (let turn = -2; turn < turns; turn++) {
      const [empty, imported] = [run("empty"), run("imported")];
      // The first two bring the files into the system's memory.
      if (turn < 0) continue;
      times.empty.push(empty);
      times.imported.push(imported);
    }
    const of = (name: keyof typeof PROGRAMS, which: 0 | 1): number => median(times[name].map((each) => each[which]));
    const [emptyMs, importedMs] = [of("empty", 0), of("imported", 0)];
    return { emptyMs, importedMs, wallMs: importedMs - emptyMs, cpuMs: of("imported", 1) - of("empty", 1) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
