/** The sources that name backends: the names of `holdfast/backends`, and the hints that `assertCheckpointer` gives. */
import { BACKENDS } from "../../src/backends/registry.ts";
import { formatted } from "../package/formatted.ts";
import type { SyncedPart } from "./part.ts";

const HEAD = "// Written by `npm run sync` from src/backends/registry.ts. Do not edit.\n";

/** What a program that names a backend needs with it. */
const BESIDE = `
export { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
export { StorageBackendAdapter, type StorageBackendAdapterOptions } from "../checkpoint/dict/adapter.ts";
export type { DictData, DictStorage } from "../checkpoint/dict/dict-storage.ts";
export { BaseStore } from "../store/base-store.ts";
export { LLMMemoryManager, type LLMMemoryManagerOptions } from "../wiring/llm-memory-manager.ts";
`;

function factories(): string {
  const line = (path: string, { values, types }: (typeof BACKENDS)[string]["names"]): string => {
    const exported = [...values, ...types.map((name) => `type ${name}`)].join(", ");
    return `export { ${exported} } from "${path}";`;
  };
  const lines = Object.entries(BACKENDS).flatMap(([folder, { names, saver, store }]) => [
    line(`../backends/${folder}/checkpointer.ts`, names),
    ...(saver === undefined ? [] : [line(`../backends/${folder}/saver.ts`, saver)]),
    ...(store === undefined ? [] : [line(`../backends/${folder}/store.ts`, store.names)]),
  ]);
  return `${HEAD}\n${lines.join("\n")}\n${BESIDE}`;
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
  { path: "src/entry/backends.ts", write: factories },
  { path: "src/checkpoint/known-backends.ts", write: hints },
].map(({ path, write }) => ({ path, source: "src/backends/registry.ts", write: () => formatted(path, write()) }));
