/**
 * After `npm ci`: Node before 22 has no SQLite of its own, and there better-sqlite3 is made ready, which downloads a
 * binary or compiles one. Where Node has `node:sqlite`, nothing is compiled.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../node_modules/better-sqlite3/", import.meta.url));
const isReady = existsSync(`${folder}build/Release/better_sqlite3.node`);
if (!isBuiltin("node:sqlite") && existsSync(folder) && !isReady) {
  const { status } = spawnSync("npm", ["run", "--silent", "install"], { cwd: folder, stdio: "inherit" });
  process.exitCode = status ?? 1;
}
