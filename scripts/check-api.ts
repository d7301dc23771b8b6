import { spawn } from "node:child_process";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { InMemoryStore, MemoryCheckpointer } from "../src/backends/memory/index.ts";
import { sqliteCheckpointer, sqliteStore } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { createToken, serve } from "../src/entry/server.ts";
import type { Store } from "../src/store/store.ts";
import { SCOPES } from "../src/wire/protocol.ts";

/**
 * Holds the description of the HTTP protocol against tools from outside: redocly
 * reads it, and schemathesis makes requests from it, valid and broken ones, and
 * looks whether a running service keeps what it says.
 *
 *     npm run check:api          HOLDFAST_SEED=… replays a run
 *
 * Both are installed into .cache at the versions below. Needs python3 with venv.
 */
const REDOCLY = "2.73.0";
const SCHEMATHESIS = "4.32.5";
/** Test cases for each operation and phase: half a minute for each storage. */
const EXAMPLES = 40;
const LONGEST_MS = 600_000;

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, ".cache");
const own = join(root, "scripts", "api");
const description = join(root, "docs", "reference", "openapi.json");
const seed = process.env["HOLDFAST_SEED"] ?? String(Date.now() % 0x7fffffff);

/** Runs a program to its end, and fails where it does. */
async function run(command: string, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const child = spawn(command, args, { cwd: root, stdio: "inherit", timeout: LONGEST_MS, ...options });
  const ended = await new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "nothing"));
  });
  if (ended !== 0) throw new Error(`${command} ${args[0] ?? ""} ended with ${ended}`);
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function lint(): Promise<void> {
  const home = join(cache, `redocly-${REDOCLY}`);
  const program = join(home, "node_modules", ".bin", "redocly");
  if (!(await isThere(program))) {
    const quietly = ["--silent", "--no-save", "--no-audit", "--no-fund"];
    await run("npm", ["install", ...quietly, "--prefix", home, `@redocly/cli@${REDOCLY}`]);
  }
  // A warning of it is a failure here.
  await run(program, ["lint", description, "--max-problems=20", "--config", join(own, "redocly.yaml")]);
}

async function installSchemathesis(): Promise<string> {
  const home = join(cache, `schemathesis-${SCHEMATHESIS}`);
  const program = join(home, "bin", "schemathesis");
  if (await isThere(program)) return program;
  await run("python3", ["-m", "venv", home]);
  await run(join(home, "bin", "pip"), ["install", "--quiet", `schemathesis==${SCHEMATHESIS}`]);
  return program;
}

async function probe(
  program: string,
  name: string,
  { checkpointer, store }: { readonly checkpointer: Checkpointer; readonly store: Store },
  folder: string,
): Promise<void> {
  console.log(`\nschemathesis against the service in front of ${name} (HOLDFAST_SEED=${seed})`);
  const { token, sha256 } = createToken();
  const auth = { tokens: [{ sha256, scopes: SCOPES, tenant: "probed" }] };
  // A watch ends soon, so that its stream can be read to the end.
  await using service = await serve({ checkpointer, store, auth, port: 0, rateLimit: false, maxWatchMs: 20 });
  const choices = ["--seed", seed, "--max-examples", String(EXAMPLES), "--checks", "all", "--continue-on-failure"];
  const manners = ["--no-color", "--generation-database", "none", "--request-timeout", "10"];
  const target = ["run", description, "--url", service.url, "--header", `Authorization: Bearer ${token}`];
  const config = ["--config-file", join(own, "schemathesis.toml")];
  // It writes beside where it is called, and Python beside what it imports.
  const env = { ...process.env, PYTHONPATH: own, PYTHONDONTWRITEBYTECODE: "1" };
  await run(program, [...config, ...target, ...choices, ...manners], { cwd: folder, env });
}

await lint();
const program = await installSchemathesis();
const folder = await mkdtemp(join(tmpdir(), "holdfast-api-"));
const path = join(folder, "a.db");
try {
  for (const [name, open] of [
    ["memory", () => ({ checkpointer: new MemoryCheckpointer(), store: new InMemoryStore() })],
    ["SQLite", () => ({ checkpointer: sqliteCheckpointer({ path }), store: sqliteStore({ path }) })],
  ] as const) {
    const there = open();
    await using checkpointer: Checkpointer = there.checkpointer;
    await using store: Store = there.store;
    await probe(program, name, { checkpointer, store }, folder);
  }
} finally {
  await rm(folder, { recursive: true });
}
