import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { LANGCHAIN_CORE_RANGE, LANGGRAPH_RANGE } from "../../src/adapters/langgraph/peers.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, ".cache", "langgraph-oldest");

const lowest = (range: string): string => {
  const [major = "0", minor = "0", patch = "0"] = (/^>=(\S+)/.exec(range)?.[1] ?? "").split(".");
  return `${major}.${minor}.${patch}`;
};

/** The graph that came with the oldest of the packages, and the suite, which asks for newer ones than it needs. */
const PACKAGES = [
  `@langchain/core@${lowest(LANGCHAIN_CORE_RANGE)}`,
  `@langchain/langgraph-checkpoint@${lowest(LANGGRAPH_RANGE)}`,
  "@langchain/langgraph@1.4.0",
  "@langchain/langgraph-checkpoint-validation@1.1.1",
  "zod@4",
  "zod-to-json-schema@3",
];

function run(program: string, given: readonly string[], cwd: string): string {
  const env = { ...process.env, HOLDFAST_PEERS_FOLDER: FOLDER };
  const { status, stdout, stderr } = spawnSync(program, given, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${given.join(" ")} ended with ${status}:\n${stdout}\n${stderr}`);
  return stdout;
}

test("with the lowest versions of LangGraph's packages that are stated, its suite passes whole, and ours", async () => {
  if (!existsSync(join(FOLDER, "node_modules"))) {
    await mkdir(FOLDER, { recursive: true });
    await writeFile(join(FOLDER, "package.json"), '{ "private": true }');
    run("npm", ["install", "--silent", "--no-audit", "--no-fund", "--legacy-peer-deps", ...PACKAGES], FOLDER);
  }
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const config = join("test", "langgraph", "oldest-peers.config.ts");
  const told = run(process.execPath, [vitest, "run", "--config", config, "--reporter=json"], ROOT);
  const report = JSON.parse(told.slice(told.indexOf("{"))) as { numPassedTests: number; numTotalTests: number };
  expect(report.numPassedTests).toBe(report.numTotalTests);
  expect(report.numPassedTests).toBeGreaterThan(2 * 726);
});
