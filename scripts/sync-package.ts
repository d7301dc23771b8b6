/**
 * Writes what package.json must say about the source: its entry points and the
 * optional client packages, from the registries of backends and providers. With `--check` it
 * writes nothing and fails when something is out of step.
 */
import { readFile, writeFile } from "node:fs/promises";
import { LANGCHAIN_CORE_RANGE, LANGGRAPH_RANGE } from "../src/adapters/langgraph/peers.ts";
import { BACKENDS } from "../src/backends/registry.ts";
import { PROVIDERS } from "../src/providers/registry.ts";

const FILE = new URL("../package.json", import.meta.url);

/** What is used when it is installed and belongs to no shelf: by the adapters and the agent's traces. */
const OTHER_PEERS = {
  "@langchain/core": LANGCHAIN_CORE_RANGE,
  "@langchain/langgraph-checkpoint": LANGGRAPH_RANGE,
  "@opentelemetry/api": "^1.9",
};

const entry = (path: string): object => ({ types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` });

function synced(manifest: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(BACKENDS);
  const exports = {
    ".": entry("index"),
    ...Object.fromEntries(names.map((name) => [`./${name}`, entry(`backends/${name}/index`)])),
    "./driver": entry("for-drivers"),
    "./langgraph": {
      types: "./dist/adapters/langgraph/index.d.ts",
      // Bundlers and `require` cannot wait while a module is loaded.
      module: "./dist/adapters/langgraph/index.js",
      require: "./dist/adapters/langgraph/index.js",
      default: "./dist/adapters/langgraph/on-node.js",
    },
    "./server": entry("server/index"),
    "./testing": entry("testing/index"),
    "./package.json": "./package.json",
  };
  const shelves = [...Object.values(BACKENDS), ...Object.values(PROVIDERS)];
  const peers = Object.assign({ ...OTHER_PEERS }, ...shelves.map((entry) => entry.peers)) as Record<string, string>;
  const peerDependencies = Object.fromEntries(Object.entries(peers).sort());
  const optional = Object.keys(peerDependencies).map((name) => [name, { optional: true }]);
  return { ...manifest, exports, peerDependencies, peerDependenciesMeta: Object.fromEntries(optional) };
}

const text = await readFile(FILE, "utf8");
const wanted = `${JSON.stringify(synced(JSON.parse(text) as Record<string, unknown>), null, 2)}\n`;
if (text === wanted) console.log("package.json is in step with the source");
else if (process.argv.includes("--check")) {
  console.error("package.json is out of step with the registries in src: run `npm run sync`");
  process.exitCode = 1;
} else {
  await writeFile(FILE, wanted);
  console.log("package.json written");
}
