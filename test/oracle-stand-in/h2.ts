import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, mayInstall, onPath } from "../services/binaries.ts";

const run = promisify(execFile);
const VERSION = "2.3.232";
const PLACE = fileURLToPath(new URL(`h2-${VERSION}/`, CACHE));

/** H2 in its Oracle mode is a second opinion where there is Java; it takes neither PL/SQL nor functions of JSON. */
export async function canHaveH2(): Promise<boolean> {
  return (
    (await onPath("java")) !== undefined && (existsSync(PLACE) || (mayInstall() && (await onPath("mvn")) !== undefined))
  );
}

/** Runs statements one after another on an empty database, and tells what each answered: rows, or why it was refused. */
export async function answersOfH2(statements: readonly string[]): Promise<readonly string[]> {
  await fetchJar();
  const directory = await mkdtemp(join(tmpdir(), "holdfast-h2-"));
  try {
    const script = join(directory, "script.sql");
    const marked = statements.map((statement, index) => `SELECT 'answer ${index}' FROM dual;\n${statement};`);
    await writeFile(script, marked.join("\n"));
    const tool = ["-cp", join(PLACE, "*"), "org.h2.tools.RunScript", "-script", script, "-showResults"];
    // KEY and VALUE are words that Oracle does not reserve.
    const url = "jdbc:h2:mem:opinion;MODE=Oracle;NON_KEYWORDS=KEY,VALUE";
    const { stdout, stderr } = await run("java", [...tool, "-continueOnError", "-url", url, "-user", "sa"], {
      maxBuffer: 64 * 1024 * 1024,
    });
    return answersIn(`${stdout}\n${stderr}`, statements.length);
  } finally {
    await rm(directory, { recursive: true });
  }
}

function answersIn(output: string, count: number): readonly string[] {
  const parts = output.split(/--> answer \d+\n/).slice(1);
  if (parts.length !== count)
    throw new Error(`H2 answered ${parts.length} of ${count} statements: ${output.slice(0, 500)}`);
  return parts.map((part) => /(?:JdbcSQL\w+Exception: .*|-->.*)/.exec(part)?.[0] ?? "done");
}

export async function fetchJar(): Promise<string> {
  if (existsSync(PLACE)) return PLACE;
  const cache = fileURLToPath(CACHE);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, "h2-"));
  try {
    const goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";
    const artifact = `-Dartifact=com.h2database:h2:${VERSION}`;
    await run("mvn", ["-B", "-q", goal, artifact, `-DoutputDirectory=${join(work, "jar")}`]);
    await rename(join(work, "jar"), PLACE).catch((error: unknown) => {
      if (!existsSync(PLACE)) throw error;
    });
  } finally {
    await rm(work, { recursive: true });
  }
  return PLACE;
}
