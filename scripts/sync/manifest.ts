/** What package.json says about the source: its entry points and the optional client packages. */
import { readdirSync } from "node:fs";
import { LANGCHAIN_CORE_RANGE, LANGGRAPH_RANGE } from "../../src/adapters/langgraph/peers.ts";
import { BACKENDS } from "../../src/backends/registry.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import type { SyncedPart } from "./part.ts";

/** What is used when it is installed and belongs to no shelf: by the adapters and the agent's traces. */
const OTHER_PEERS = {
  "@langchain/core": LANGCHAIN_CORE_RANGE,
  "@langchain/langgraph-checkpoint": LANGGRAPH_RANGE,
  "@opentelemetry/api": "^1.9",
};

/** The other subpaths, each a file of `src/entry`. */
const SUBJECTS = readdirSync(new URL("../../src/entry/", import.meta.url))
  .map((file) => file.replace(/\.ts$/, ""))
  .filter((name) => !name.startsWith("langgraph"));

const entry = (path: string): object => ({ types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` });

function synced(manifest: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(BACKENDS);
  const exports = {
    ".": entry("index"),
    ...Object.fromEntries(names.map((name) => [`./${name}`, entry(`backends/${name}/index`)])),
    ...Object.fromEntries(SUBJECTS.map((name) => [`./${name}`, entry(`entry/${name}`)])),
    "./langgraph": {
      types: "./dist/entry/langgraph.d.ts",
      // Bundlers and `require` cannot wait while a module is loaded.
      module: "./dist/entry/langgraph.js",
      require: "./dist/entry/langgraph-required.js",
      default: "./dist/entry/langgraph-on-node.js",
    },
    "./package.json": "./package.json",
  };
  const shelves = [...Object.values(BACKENDS), ...Object.values(PROVIDERS)];
  const peers = Object.assign({ ...OTHER_PEERS }, ...shelves.map((entry) => entry.peers)) as Record<string, string>;
  const peerDependencies = Object.fromEntries(Object.entries(peers).sort());
  const optional = Object.keys(peerDependencies).map((name) => [name, { optional: true }]);
  return { ...manifest, exports, peerDependencies, peerDependenciesMeta: Object.fromEntries(optional) };
}

export const MANIFEST: SyncedPart = {
  path: "package.json",
  source: "the registries in src",
  write: (text) => `${JSON.stringify(synced(JSON.parse(text) as Record<string, unknown>), null, 2)}\n`,
};
