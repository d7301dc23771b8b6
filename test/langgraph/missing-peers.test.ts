import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const ENTRIES = fileURLToPath(new URL("../../src/entry/", import.meta.url));
const run = promisify(execFile);
let folder: string;

/** The adapter as the package has it, in a folder above which nothing is installed. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-peers-"));
  await build({
    entryPoints: [join(ENTRIES, "langgraph-on-node.ts"), join(ENTRIES, "langgraph.ts")],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "error",
  });
});
afterAll(() => rm(folder, { recursive: true }));

async function install(name: string, version: string, text: string): Promise<void> {
  const there = join(folder, "node_modules", name);
  await mkdir(there, { recursive: true });
  const exports = { ".": "./index.js", "./load": "./index.js" };
  await writeFile(join(there, "package.json"), JSON.stringify({ name, version, type: "module", exports }));
  await writeFile(join(there, "index.js"), text);
}

async function failure(): Promise<{ readonly code: string; readonly message: string }> {
  const program = `import("./langgraph-on-node.mjs").then(() => 0, ({ code, message }) => console.log(JSON.stringify({ code, message })))`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd: folder });
  return JSON.parse(stdout) as { code: string; message: string };
}

test("each missing or old package of LangGraph is named, with what to install", async () => {
  expect(await failure()).toEqual({
    code: "MISSING_DEPENDENCY",
    message: expect.stringContaining('npm install "@langchain/core@>=1.1.48 <2"'),
  });
  await install("@langchain/core", "0.3.80", "export const load = () => undefined;");
  expect(await failure()).toEqual({
    code: "INCOMPATIBLE",
    message: expect.stringMatching(/"@langchain\/core" is here in version 0\.3\.80.*npm install/),
  });
  await install("@langchain/core", "1.1.48", "export const load = () => undefined;");
  expect(await failure()).toEqual({
    code: "MISSING_DEPENDENCY",
    message: expect.stringContaining('npm install "@langchain/langgraph-checkpoint@>=1.1 <2"'),
  });
  await install("@langchain/langgraph-checkpoint", "0.0.18", "export class BaseCheckpointSaver {}");
  expect(await failure()).toEqual({
    code: "INCOMPATIBLE",
    message: expect.stringMatching(/"@langchain\/langgraph-checkpoint" is here in version 0\.0\.18.*npm install/),
  });
});

test("what Node imports has every name that bundlers and require get", async () => {
  const [onNode, all] = await Promise.all([
    import("../../src/entry/langgraph-on-node.ts"),
    import("../../src/entry/langgraph.ts"),
  ]);
  expect(Object.keys(onNode).sort()).toEqual(Object.keys(all).sort());
  expect(onNode.LangGraphSaver).toBe(all.LangGraphSaver);
});
