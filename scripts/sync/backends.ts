/** The sources that name backends: the names of `holdfast/backends`, and the hints that `assertCheckpointer` gives. */
import { BACKENDS } from "../../src/backends/registry.ts";
import { formatted } from "../package/formatted.ts";
import type { SyncedPart } from "./part.ts";

const HEAD = "// Written by `npm run sync` from src/backends/registry.ts. Do not edit.\n";

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

export const BACKEND_PARTS: readonly SyncedPart[] = [
  { path: "src/backends/factories.ts", write: factories },
  { path: "src/checkpoint/known-backends.ts", write: hints },
].map(({ path, write }) => ({ path, source: "src/backends/registry.ts", write: () => formatted(path, write()) }));
