/**
 * Writes the sources that name backends, from their registry: the names at the
 * package's root, and the hints that `assertCheckpointer` gives. With `--check`
 * it writes nothing and fails when something is out of step.
 */
import { readFile, writeFile } from "node:fs/promises";
import { BACKENDS } from "../src/backends/registry.ts";
import { formatted } from "./package/formatted.ts";

const HEAD = "// Written by `npm run sync` from src/backends/registry.ts. Do not edit.\n";

/** Doors only: a driver is imported by its door, at its first use. */
function factories(): string {
  const line = (path: string, { values, types }: (typeof BACKENDS)[string]["names"]): string => {
    const exported = [...values, ...types.map((name) => `type ${name}`)].join(", ");
    return `export { ${exported} } from "${path}";`;
  };
  const lines = Object.entries(BACKENDS).flatMap(([folder, { names, saver, store }]) => [
    line(`./${folder}/checkpointer.ts`, names),
    ...(saver === undefined ? [] : [line(`./${folder}/saver.ts`, saver)]),
    ...(store === undefined ? [] : [line(`./${folder}/store.ts`, store.names)]),
  ]);
  return `${HEAD}\n${lines.join("\n")}\n`;
}

function hints(): string {
  const all = Object.values(BACKENDS).flatMap(({ hints: hint }) => (hint === undefined ? [] : [hint]));
  const clients = all.flatMap(({ client }) => (client === undefined ? [] : [client]));
  const options = all.flatMap((hint) => Object.entries(hint.options ?? {}));
  return `${HEAD}
import type { KnownClient } from "./known-client.ts";

export const CLIENTS: readonly KnownClient[] = ${JSON.stringify(clients)};

/** Options that give away whose they are. */
export const OPTIONS: readonly (readonly [option: string, call: string])[] = ${JSON.stringify(options)};
`;
}

const FILES: Readonly<Record<string, () => string>> = {
  "src/backends/factories.ts": factories,
  "src/checkpoint/known-backends.ts": hints,
};

for (const [path, text] of Object.entries(FILES)) {
  const file = new URL(`../${path}`, import.meta.url);
  const wanted = formatted(path, text());
  if ((await readFile(file, "utf8").catch(() => "")) === wanted) console.log(`${path} is in step with the registry`);
  else if (process.argv.includes("--check")) {
    console.error(`${path} is out of step with src/backends/registry.ts: run \`npm run sync\``);
    process.exitCode = 1;
  } else {
    await writeFile(file, wanted);
    console.log(`${path} written`);
  }
}
