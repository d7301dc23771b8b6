/**
 * Looks at the package as its users get it: packs it, checks the tarball,
 * installs it into an empty folder, counts what arrived, and imports every entry.
 */
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { savePrograms, typeCommands } from "./package/follow-page.ts";
import { type PackedTarball, projectWith, ROOT, run, withTarball } from "./package/packed.ts";
import { buildStudio, packedBytesOf } from "./studio/build-page.ts";

/** Where `npm run wide:install` puts programs. */
const WIDE = join(ROOT, "test/wide/node_modules/.bin");

/** Itself, and the validator for tools that are described by plain JSON Schema; it has no dependencies. */
const EXPECTED = ["holdfast", "@cfworker/json-schema"];

/** The entry, what the root needs, and the bundler's own few lines: a program waits for each file. */
const MOST_FILES = 3;

/** Prints the address of every module of the package that `import "holdfast"` loads. */
const LOADED_MODULES = `
import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(\`
import { writeSync } from "node:fs";
export async function load(url, context, next) {
  if (url.includes("/holdfast/dist/")) writeSync(1, url + "\\\\n");
  return next(url, context);
}\`));
await import("holdfast");
`;

/** What two entry points both export is one thing: an error of a backend is the `StateError` that a program looks for. */
const ONE_OF_EACH = `
const known = new Map();
let shared = 0;
for (const entry of JSON.parse(process.argv[2])) {
  for (const [name, value] of Object.entries(await import(entry))) {
    const before = known.get(name);
    if (before !== undefined && before.value !== value) throw new Error(name + " of " + entry + " is not that of " + before.entry);
    if (before !== undefined) shared++;
    const isClass = typeof value === "function" && /^class\\b/.test(Function.prototype.toString.call(value));
    if (isClass && value.name !== name) throw new Error(name + " of " + entry + " calls itself " + value.name);
    known.set(name, { entry, value });
  }
}
console.log(shared);
`;

/** These extend a class of a peer's: without it they cannot be imported, and the failure names it. */
const NEEDS: Readonly<Record<string, string>> = { "./langgraph": "@langchain/" };

function importOf(entry: string): string {
  const imported = `await import(${JSON.stringify(entry.replace(/^\./, "holdfast"))})`;
  const peer = NEEDS[entry];
  if (peer === undefined) return `${imported};`;
  return `${imported}.catch((error) => { if (!error.message.includes(${JSON.stringify(peer)})) throw error; });`;
}

/** Links in the packaged docs must work: each leads to a file in the package, or to the web. */
async function assertLinksLead(paths: readonly string[]): Promise<void> {
  const shipped = new Set(paths);
  for (const page of paths.filter((path) => path.endsWith(".md"))) {
    const text = await readFile(join(ROOT, page), "utf8");
    for (const [, link = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(?:https?:|#)/.test(link)) continue;
      const target = posix.join(posix.dirname(page), link.replace(/#.*$/, ""));
      const isThere = shipped.has(target) || paths.some((path) => path.startsWith(`${target.replace(/\/$/, "")}/`));
      if (!isThere) throw new Error(`${page} links to ${link}, which the package does not hold`);
    }
  }
}

/**
 * A file that is loaded later has a name that no other build gives it, so that two versions are never mixed.
 */
async function assertNamedByBuild(paths: readonly string[]): Promise<void> {
  const { exports, bin } = await readFile(join(ROOT, "package.json"), "utf8").then(JSON.parse);
  const doors = JSON.stringify([exports, bin]);
  const modules = paths.filter((path) => /^dist\/(?!studio\/page\/).*\.js$/.test(path));
  const unnamed = modules.filter((path) => !/-[\w-]{8}\.js$/.test(path) && !doors.includes(`"./${path}"`));
  if (unnamed.length > 0)
    throw new Error(`these files may be mixed with those of another version: ${unnamed.join(", ")}`);
}

/** Makes a SQLite file with one thread in it. */
const FILL = `
import { AgentState, userMessage } from "holdfast";
import { sqliteCheckpointer } from "holdfast/sqlite";
const checkpointer = sqliteCheckpointer({ path: "agents.db" });
await checkpointer.save(AgentState.create().withMessage(userMessage("hello")), "trip-42");
await checkpointer.close();
`;

/** What SQLite needs besides Node. */
const SQLITE_CLIENT = Number(process.versions.node.split(".")[0]) < 22 ? ["better-sqlite3"] : [];

/** Links, because installing a client from here would build it anew, in place. */
async function linkInto(project: string, names: readonly string[]): Promise<void> {
  for (const name of names) await symlink(join(ROOT, "node_modules", name), join(project, "node_modules", name));
}

/** The tutorial, word by word, with the package as its readers get it. */
async function assertTutorial(packed: PackedTarball): Promise<void> {
  const page = await readFile(join(ROOT, "docs/tutorial.md"), "utf8");
  const project = await projectWith(packed, "first-hour", [packed.tarball]);
  await linkInto(project, ["zod", ...SQLITE_CLIENT]);
  await savePrograms(page, project);
  const typed = await typeCommands(page, project, process.env);
  console.log(`the tutorial works from the tarball: its ${typed.length} commands print what it says`);
}

/** `npx holdfast` works where only the package is installed, and so does a SQLite file; on Node 20 with its client beside it. */
async function assertCommandLine(packed: PackedTarball, user: string): Promise<void> {
  const help = run("npx", ["holdfast", "--help"], user);
  if (!help.includes("threads")) throw new Error(`npx holdfast --help printed ${help}`);
  const project = await projectWith(packed, "command-line", [packed.tarball], { "fill.mjs": FILL });
  await linkInto(project, SQLITE_CLIENT);
  run("node", ["fill.mjs"], project);
  const threads = run("npx", ["holdfast", "threads", "sqlite:./agents.db", "-o", "id"], project);
  if (threads !== "trip-42\n") throw new Error(`npx holdfast threads printed ${JSON.stringify(threads)}`);
  console.log("npx holdfast works from the tarball: --help in an empty project, threads on a SQLite file");
}

/**
 * How much a browser that opens Studio is sent, and how much of it the package holds at
 * all.
 */
const MOST_STUDIO_BYTES = 150 * 1024;

/** Studio's page comes with the package, small, with the licences of what is in it, and works where nothing else is installed. */
async function assertStudio(packed: PackedTarball, user: string): Promise<void> {
  const installed = join(user, "node_modules/holdfast");
  const files = packed.paths.filter((path) => path.startsWith("dist/studio/") && !path.endsWith(".d.ts"));
  for (const wanted of ["dist/studio/page/index.html", "dist/studio/page/LICENSES.txt"]) {
    if (!files.includes(wanted)) throw new Error(`the package has no ${wanted}`);
  }
  const bytes = await packedBytesOf(join(installed, "dist/studio/page"));
  if (bytes > MOST_STUDIO_BYTES) throw new Error(`Studio has ${bytes} bytes packed; at most ${MOST_STUDIO_BYTES}`);
  const again = await buildStudio(join(user, "built-again"));
  for (const name of await readdir(again.folder)) {
    const [one, two] = [
      await readFile(join(installed, "dist/studio/page", name)),
      await readFile(join(again.folder, name)),
    ];
    if (!one.equals(two)) throw new Error(`building Studio twice gives another ${name}`);
  }
  await writeFile(join(user, "studio.mjs"), OPEN_STUDIO);
  const opened = run("node", ["studio.mjs"], user);
  if (!opened.includes("200 200 401")) throw new Error(`Studio from the tarball answered ${opened}`);
  console.log(`Studio works from the tarball: ${bytes} bytes packed, the same bytes when it is built again`);
}

/** Starts Studio from the package as a user would, asks for the page, for the store, and for the store without the token. */
const OPEN_STUDIO = `
import { spawn } from "node:child_process";
const cli = new URL("node_modules/holdfast/dist/cli/main.js", import.meta.url).pathname;
const child = spawn(process.execPath, [cli, "studio", "memory:", "--port", "0", "--no-open", "-o", "json"]);
const { url } = JSON.parse(await new Promise((resolve) => {
  let text = "";
  child.stdout.on("data", (part) => { text += part; if (text.includes("}")) resolve(text); });
}));
const [origin, token] = url.split("/#k=");
const status = async (path, headers = {}) => (await fetch(origin + path, { headers })).status;
console.log(await status("/"), await status("/api/store", { authorization: "Bearer " + token }), await status("/api/store"));
const ended = new Promise((resolve) => child.once("exit", resolve));
child.kill("SIGINT");
if ((await ended) !== 0) throw new Error("Ctrl-C did not end it with 0");
`;

/** What people download and unpack. */
const MOST_FILES_PACKED = 400;
const MOST_BYTES_UNPACKED = 2_500_000;

await withTarball(async (packed) => {
  const strays = packed.paths.filter((path) => /\.test\.|(^|\/)(test|bench)\//.test(path));
  if (strays.length > 0) throw new Error(`the tarball holds files it should not: ${strays.join(", ")}`);
  if (packed.paths.length > MOST_FILES_PACKED || packed.unpackedSize > MOST_BYTES_UNPACKED) {
    throw new Error(`the tarball has ${packed.paths.length} files and ${packed.unpackedSize} bytes unpacked`);
  }
  console.log(`${packed.paths.length} files, ${packed.unpackedSize} bytes unpacked`);
  await assertLinksLead(packed.paths);
  await assertNamedByBuild(packed.paths);
  console.log(run(join(WIDE, "publint"), ["--strict", packed.tarball], ROOT).trim());
  console.log(run(join(WIDE, "attw"), [packed.tarball, "--profile", "esm-only"], ROOT).trim());

  const user = await projectWith(packed, "user", [packed.tarball]);
  const lock = JSON.parse(await readFile(join(user, "package-lock.json"), "utf8")) as { packages: object };
  const installed = Object.keys(lock.packages).filter((path) => path !== "");
  const unexpected = installed.filter((path) => !EXPECTED.includes(path.replace("node_modules/", "")));
  if (unexpected.length > 0) throw new Error(`installing holdfast brought ${unexpected.join(", ")}`);

  await assertCommandLine(packed, user);
  await assertStudio(packed, user);
  await assertTutorial(packed);

  const { exports } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { exports: object };
  const entries = Object.keys(exports).filter((entry) => !entry.endsWith(".json"));
  const program = entries.map(importOf).join("\n");
  await writeFile(join(user, "entries.mjs"), program);
  run("node", ["entries.mjs"], user);
  await writeFile(join(user, "one-of-each.mjs"), ONE_OF_EACH);
  const named = entries.filter((entry) => NEEDS[entry] === undefined).map((entry) => entry.replace(/^\./, "holdfast"));
  const shared = run("node", ["one-of-each.mjs", JSON.stringify(named)], user).trim();
  console.log(`${shared} exports are in more than one entry point, and are the same there`);
  await writeFile(join(user, "loaded.mjs"), LOADED_MODULES);
  const loaded = run("node", ["loaded.mjs"], user).trim().split("\n");
  const drivers = loaded.filter((url) => /\/backends\/\w+\/log(?:-[\w-]+)?\.js$/.test(url));
  if (drivers.length > 0) throw new Error(`import "holdfast" loads the drivers ${drivers.join(", ")}`);
  if (loaded.length > MOST_FILES)
    throw new Error(`import "holdfast" loads ${loaded.length} files: ${loaded.join(", ")}`);
  console.log(`import "holdfast" loads ${loaded.length} files and no driver`);
  console.log(
    `${entries.length} entry points import; ${packed.size} bytes packed; installing adds ${installed.length} packages`,
  );
});
