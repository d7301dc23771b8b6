/**
 * `npm run walk [-- <folder of another checkout>] [-- --list="save, warm"]`: how much of `src` one call walks through
 * on SQLite, as V8's precise coverage sees it: distinct files, functions and source lines that ran. These are counts
 * and not times: runs differ by a function or two, and a busy machine changes nothing. `--list` prints what one call ran.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { parseArgs } from "node:util";
import { renderTable } from "../bench/table.ts";
import { walkCalls } from "./walk/calls.ts";
import { Coverage } from "./walk/coverage.ts";

const { values, positionals } = parseArgs({ options: { list: { type: "string" } }, allowPositionals: true });
const source = resolve(positionals[0] ?? join(import.meta.dirname, ".."), "src");
const testing = join(source, "testing") + sep;
const coverage = new Coverage((path) => path.startsWith(source + sep) && !path.startsWith(testing));

const folder = await mkdtemp(join(tmpdir(), "holdfast-walk-"));
const walked = await walkCalls(coverage, source, folder).finally(() => rm(folder, { recursive: true }));

if (values.list === undefined) {
  const rows = [...walked].map(([name, { files, functions, lines }]) => [
    name,
    ...[files.size, functions.length, lines.size].map(String),
  ]);
  console.log(renderTable(["on SQLite", "files", "functions", "lines"], rows));
} else {
  const call = walked.get(values.list);
  if (call === undefined) throw new Error(`--list takes one of: ${[...walked.keys()].join("; ")}`);
  for (const each of [...call.functions].sort()) console.log(relative(source, each));
}
