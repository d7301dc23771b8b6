import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./packed.ts";

/** A source as the formatter and the linter of this repository leave it. */
export const formatted = (path: string, text: string): string =>
  execFileSync(join(ROOT, "node_modules", ".bin", "biome"), ["check", "--write", `--stdin-file-path=${path}`], {
    cwd: ROOT,
    input: text,
    encoding: "utf8",
  });
