/**
 * The packed tarball where its users run it: on every supported Node, as ES
 * module and by `require`, on Bun and Deno, under old and new TypeScript with
 * `skipLibCheck: false`, and bundled by esbuild. One line for each.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type PackedTarball, projectWith, ROOT, run, withTarball } from "./package/packed.ts";
import { BUNDLED_PROGRAM, COMMONJS_PROGRAM, ESM_PROGRAM, typescriptProgram } from "./package/programs.ts";

const NODES = ["20.19.0", "22", "24"];
/** The oldest that works, those between, and the newest; each with declarations of Node that it can read. */
const TYPESCRIPTS: Readonly<Record<string, string>> = {
  "5.4": "20",
  "5.6": "20",
  "5.7": "22",
  "5.9": "24",
  "6.0": "24",
  "7.0": "24",
};

/** Kept between runs, because they are large. */
async function cachedTool(name: string, version: string, program: string = name): Promise<string> {
  const place = join(ROOT, ".cache", "runtimes", `${name}-${version}`);
  const path = join(place, "node_modules", ".bin", program);
  if (!existsSync(path)) {
    await mkdir(place, { recursive: true });
    await writeFile(join(place, "package.json"), "{}");
    run("npm", ["install", "--silent", "--no-audit", "--no-fund", `${name}@${version}`], place);
  }
  return path;
}

const say = (what: string): void => console.log(`works: ${what}`);

async function onNodes(packed: PackedTarball): Promise<void> {
  const files = { "program.mjs": ESM_PROGRAM, "program.cjs": COMMONJS_PROGRAM };
  const project = await projectWith(packed, "nodes", [packed.tarball], files);
  for (const version of NODES) {
    const node = await cachedTool("node", version);
    const exact = run(node, ["--version"], project).trim();
    for (const program of Object.keys(files)) {
      run(node, [program, `file:./threads-${version}-${program}`], project);
      say(`Node ${exact}, ${program.endsWith(".cjs") ? "require" : "import"}`);
    }
  }
}

async function onOthers(packed: PackedTarball): Promise<void> {
  const project = await projectWith(packed, "others", [packed.tarball], { "program.mjs": ESM_PROGRAM });
  const bun = await cachedTool("bun", "1");
  run(bun, ["program.mjs", "file:./threads-bun"], project);
  say(`Bun ${run(bun, ["--version"], project).trim()}`);
  const deno = await cachedTool("deno", "2");
  run(deno, ["run", "-A", "--node-modules-dir=manual", "program.mjs", "file:./threads-deno"], project);
  say(run(deno, ["--version"], project).split("\n")[0]?.replace(/ \(.*/, "") ?? "Deno");
}

async function underTypescript(packed: PackedTarball): Promise<void> {
  const { exports } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { exports: object };
  // Its types are those of LangGraph, whose users have that; it type-checks with it in the tests.
  const entries = Object.keys(exports).filter((entry) => !entry.endsWith(".json") && entry !== "./langgraph");
  const source = typescriptProgram(entries.map((entry) => entry.replace(/^\./, "holdfast")));
  for (const [version, nodeTypes] of Object.entries(TYPESCRIPTS)) {
    const packages = [packed.tarball, `@types/node@${nodeTypes}`];
    const project = await projectWith(packed, `typescript-${version}`, packages, { "user.mts": source });
    const tsc = await cachedTool("typescript", version, "tsc");
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--skipLibCheck", "false"];
    const target = ["--module", "nodenext", "--moduleResolution", "nodenext", "--target", "es2022", "--lib", "es2023"];
    run(tsc, [...strict, ...target, "--types", "node", "user.mts"], project);
    say(`${run(tsc, ["--version"], project).trim().replace("Version", "TypeScript")}, skipLibCheck off`);
  }
}

async function bundled(packed: PackedTarball): Promise<void> {
  const files = { "app.mjs": BUNDLED_PROGRAM };
  const project = await projectWith(packed, "bundled", [packed.tarball, "better-sqlite3@12"], files);
  const esbuild = join(ROOT, "node_modules", ".bin", "esbuild");
  const always = ["--bundle", "--log-level=warning", "--platform=node", "--format=esm", "--minify", "--splitting"];
  // What users write too: drivers stay outside, because they hold native code or are not installed.
  run(esbuild, ["app.mjs", ...always, "--packages=external", "--outdir=external", "--out-extension:.js=.mjs"], project);
  run("node", [join("external", "app.mjs"), "a.db", "threads"], project);
  const drivers = ["better-sqlite3"].map((name) => `--external:${name}`);
  run(esbuild, ["app.mjs", ...always, ...drivers, "--outdir=whole", "--out-extension:.js=.mjs"], project);
  run("node", [join("whole", "app.mjs"), "b.db", "threads"], project);
  say("esbuild, an application with a driver");
}

/** Named on the command line, or all of them. */
const CHECKS: Readonly<Record<string, (packed: PackedTarball) => Promise<void>>> = {
  node: onNodes,
  typescript: underTypescript,
  others: onOthers,
  bundle: bundled,
};
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(CHECKS);

await withTarball(async (packed) => {
  for (const name of wanted) await CHECKS[name]?.(packed);
});
