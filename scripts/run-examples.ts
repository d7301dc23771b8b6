/**
 * Runs every example, each in a process of its own, and reports which failed. With words, only
 * those whose path holds one of them: `npx tsx scripts/run-examples.ts fork demo`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { wideIsInstalled } from "../test/wide/installed.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

export interface ExampleRun {
  readonly code: number | null;
  /** Everything it printed, errors included. */
  readonly output: string;
}

/** Paths below the repository, in the order a reader meets them. */
export async function listExamples(): Promise<readonly string[]> {
  const names = (await readdir(new URL("../examples/", import.meta.url))).filter((name) => /^\d\d-.*\.ts$/.test(name));
  return [...names.sort().map((name) => `examples/${name}`), "examples/demo/main.ts"];
}

/** Some examples need packages that only test/wide has. */
const fallback = wideIsInstalled ? ["--import", new URL("../test/wide/fallback.mjs", import.meta.url).href] : [];

/** `command` is the path and, where the program takes some, its arguments. */
export async function runExample(
  command: readonly [path: string, ...words: string[]],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<ExampleRun> {
  const child = spawn(process.execPath, ["--import", "tsx", ...fallback, ...command], {
    cwd: ROOT,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

async function main(words: readonly string[]): Promise<void> {
  const all = await listExamples();
  const wanted = words.length === 0 ? all : all.filter((path) => words.some((word) => path.includes(word)));
  for (const path of wanted) {
    const startedAt = performance.now();
    const { code, output } = await runExample([path]);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (code === 0) console.log(`ok      ${path}  ${seconds} s`);
    else {
      process.exitCode = 1;
      console.log(`FAILED  ${path} ended with ${code}\n${output}`);
    }
  }
  if (wanted.length === 0) {
    process.exitCode = 1;
    console.log(`no example matches; there are ${all.join(", ")}`);
  }
}

if (process.argv[1]?.endsWith("run-examples.ts")) await main(process.argv.slice(2));
