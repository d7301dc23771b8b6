import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
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
    entryPoints: {
      ...Object.fromEntries(
        ["langgraph-on-node", "langgraph-required", "langgraph"].map((name) => [name, join(ENTRIES, `${name}.ts`)]),
      ),
      cli: fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url)),
    },
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "error",
  });
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "holdfast", version: "0.0.0", type: "module" }));
});
afterAll(() => rm(folder, { recursive: true }));

async function install(name: string, version: string, text: string): Promise<void> {
  const there = join(folder, "node_modules", name);
  await mkdir(there, { recursive: true });
  const exports = { ".": "./index.js", "./load": "./index.js" };
  await writeFile(join(there, "package.json"), JSON.stringify({ name, version, type: "module", exports }));
  await writeFile(join(there, "index.js"), text);
}

const TELL = "({ code, message }) => console.log(JSON.stringify({ code, message }))";

/** What each way to the adapter says; `copy` of the command line as its last line of errors. */
const WAYS: Readonly<Record<string, () => Promise<{ readonly code: string; readonly message: string }>>> = {
  import: async () => {
    const program = `import("./langgraph-on-node.js").then(() => 0, ${TELL})`;
    return JSON.parse((await run(process.execPath, ["--input-type=module", "-e", program], { cwd: folder })).stdout);
  },
  require: async () => {
    const program = `try { require("./langgraph-required.js") } catch (error) { (${TELL})(error) }`;
    const { stdout } = await run(process.execPath, ["--input-type=commonjs", "-e", program], { cwd: folder });
    return JSON.parse(stdout);
  },
  "holdfast copy": async () => {
    const args = ["cli.js", "copy", "langgraph+sqlite:./theirs.db", "sqlite:./ours.db", "--json"];
    const failed: { readonly stderr: string } = await run(process.execPath, args, { cwd: folder }).then(
      () => ({ stderr: "" }),
      (error: { readonly stderr: string }) => error,
    );
    const { error } = JSON.parse(failed.stderr.trim().split("\n").at(-1) ?? "") as {
      error: { code: string; message: string };
    };
    return { code: error.code, message: error.message };
  },
};

test.each(Object.entries(WAYS))(
  "each missing or old package of LangGraph is named, with what to install: %s",
  async (_, failure) => {
    await rm(join(folder, "node_modules"), { recursive: true, force: true });
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
    await install("@langchain/langgraph-checkpoint", "0.0.18", OLD);
    expect(await failure()).toEqual({
      code: "INCOMPATIBLE",
      message: expect.stringMatching(/"@langchain\/langgraph-checkpoint" is here in version 0\.0\.18.*npm install/),
    });
  },
);

/** What the adapter takes from LangGraph's package and was there before 1.1. */
const OLD =
  "export class BaseCheckpointSaver {} export class BaseStore {} export const TASKS = ''; export const getCheckpointId = 0, maxChannelVersion = 0;";

test("a bundle that was made with an old package of LangGraph says so when it runs", async () => {
  await rm(join(folder, "node_modules"), { recursive: true, force: true });
  await install("@langchain/core", "1.1.48", "export const load = () => undefined;");
  await install("@langchain/langgraph-checkpoint", "0.0.18", OLD);
  const bundled = join(folder, "bundled.mjs");
  await build({
    stdin: { contents: `import { toLangGraphSaver } from "./langgraph.js"; toLangGraphSaver();`, resolveDir: folder },
    outfile: bundled,
    ...{ bundle: true, format: "esm", platform: "node", logLevel: "silent" },
    // All but what is bundled on purpose.
    external: ["better-sqlite3", "ioredis", "redis", "pg", "oracledb", "oci-*", "@aws-sdk/*", "@opensearch-project/*"],
  });
  await rm(join(folder, "node_modules"), { recursive: true });
  const program = `import("./bundled.mjs").then(() => 0, ${TELL})`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual({
    code: "INCOMPATIBLE",
    message: expect.stringContaining('npm install "@langchain/langgraph-checkpoint@>=1.1 <2"'),
  });
});

test("what Node imports has every name that bundlers and require get", async () => {
  const [onNode, all] = await Promise.all([
    import("../../src/entry/langgraph-on-node.ts"),
    import("../../src/entry/langgraph.ts"),
  ]);
  expect(Object.keys(onNode).sort()).toEqual(Object.keys(all).sort());
  expect(onNode.LangGraphSaver).toBe(all.LangGraphSaver);
  const required = await readFile(join(ENTRIES, "langgraph-required.ts"), "utf8");
  for (const name of Object.keys(all)) expect(required).toContain(`export const ${name}:`);
});
