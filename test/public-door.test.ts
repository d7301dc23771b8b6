import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { BACKENDS } from "../src/backends/registry.ts";
import { contextOf } from "../src/checkpoint/context.ts";
import * as backends from "../src/entry/backends.ts";
import * as root from "../src/index.ts";
import { staticClosure } from "./static-closure.ts";

const SRC = fileURLToPath(new URL("../src/", import.meta.url));
const NAMES = Object.keys(BACKENDS);
describe.each(NAMES)("%s", (name) => {
  const entry = BACKENDS[name];
  if (entry === undefined) throw new Error(`no entry for ${name}`);

  test("its capabilities are known when it is made, and naming it opens and imports nothing", async () => {
    const checkpointer = (await entry.load()).openUrl(entry.example);
    const log = contextOf(checkpointer)?.log;
    expect(log?.capabilities).toEqual(expect.objectContaining({ durability: expect.any(String) }));
    await checkpointer.close();
    const store = await entry.store?.load();
    await store?.openStoreUrl(entry.example).close();
    const loaded = [
      ...(await staticClosure(`src/backends/${name}/index.ts`)),
      ...(await staticClosure("src/entry/backends.ts")),
    ];
    const clients = Object.keys(entry.peers).map((peer) => `from "${peer}`);
    const found: string[] = [];
    for (const path of loaded) {
      const statements = (await readFile(new URL(`../${path}`, import.meta.url), "utf8")).match(
        /^import (?!type\b)[^;]*;/gm,
      );
      if (statements?.some((text) => clients.some((client) => text.includes(client)))) found.push(path);
    }
    expect(found).toEqual([]);
  });

  test("its names are in holdfast/backends, the same as in its subpath, and not at the root", async () => {
    const subpath = (await import(`../src/backends/${name}/index.ts`)) as Record<string, unknown>;
    const together: Record<string, unknown> = { ...backends };
    expect(entry.names.values.length).toBeGreaterThan(0);
    for (const value of [...entry.names.values, ...(entry.store?.names.values ?? []), ...(entry.saver?.values ?? [])]) {
      expect(together[value], value).toBeDefined();
      expect(subpath[value], value).toBe(together[value]);
      expect(root, value).not.toHaveProperty(value);
    }
  });

  test("its subpath shows no driver and nothing that only this package calls", async () => {
    const subpath = (await import(`../src/backends/${name}/index.ts`)) as Record<string, unknown>;
    expect(
      Object.keys(subpath).filter((key) => /Log$|[lL]ogOptions$|Driver|^open(Store)?Url$|OfUrl$|FACTS$/.test(key)),
    ).toEqual([]);
  });

  test("outside of its folder, one list names it, and what is written from that list", () => {
    const names = [...entry.names.values, ...(entry.store?.names.values ?? [])];
    const naming = filesNaming(name, names).filter((path) => !EXAMPLES.includes(path));
    const hints = entry.hints === undefined ? [] : ["checkpoint/known-backends.ts"];
    expect(naming).toEqual(["backends/registry.ts", ...hints, "entry/backends.ts"]);
  });
});

/** Messages and comments that show a factory as an example. */
const EXAMPLES = ["checkpoint/assert-checkpointer.ts", "checkpoint/log/assert-thread-log.ts"];

interface Source {
  readonly place: string;
  readonly text: string;
}

async function readSources(): Promise<readonly Source[]> {
  const paths = (await readdir(SRC, { recursive: true })).map((path) => path.replaceAll("\\", "/"));
  const own = paths.filter((path) => path.endsWith(".ts") && !/\.test(-d)?\.ts$/.test(path));
  return Promise.all(own.map(async (place) => ({ place, text: await readFile(join(SRC, place), "utf8") })));
}

const sources = await readSources();

function filesNaming(folder: string, values: readonly string[]): readonly string[] {
  const byName = new RegExp(`backends/${folder}/|\\b(?:${values.join("|")})\\b`);
  const beside = new RegExp(`"\\./${folder}/`);
  return sources
    .filter(({ place }) => !place.startsWith(`backends/${folder}/`))
    .filter(({ place, text }) => byName.test(text) || (place.startsWith("backends/") && beside.test(text)))
    .map(({ place }) => place)
    .sort();
}

/** What a program that is written after the seeds names. */
const IN_ONE_PLACE = [
  ...["oracleCheckpointer", "postgresqlCheckpointer", "redisCheckpointer", "sqliteCheckpointer"],
  ...["opensearchCheckpointer", "ociBucketCheckpointer", "MemoryCheckpointer", "FileCheckpointer", "HTTPCheckpointer"],
  ...["OCIBucketBackend", "OracleCheckpointSaver", "OracleStore", "InMemoryStore", "BaseCheckpointer", "BaseStore"],
  ...["StorageBackendAdapter", "LLMMemoryManager"],
];

test("every factory and every base class comes from holdfast/backends", () => {
  expect(Object.keys(backends)).toEqual(expect.arrayContaining(IN_ONE_PLACE));
});

test("the root is small, and each of its names is that of a subject's own subpath", async () => {
  const subjects = await Promise.all(
    ["agent", "checkpointer", "saver", "session", "state", "store"].map(
      (name) => import(`../src/entry/${name}.ts`) as Promise<Record<string, unknown>>,
    ),
  );
  for (const [name, value] of Object.entries(root)) {
    expect(subjects.map((subject) => subject[name]).filter((found) => found !== undefined)).toContain(value);
  }
  const text = await readFile(join(SRC, "index.ts"), "utf8");
  const statements = [...text.matchAll(/^export (type )?\{([^}]*)\}/gm)];
  const names = statements.flatMap(([, type = "", list = ""]) =>
    list.split(",").flatMap((name) => (name.trim() === "" ? [] : type + name.trim())),
  );
  const types = names.filter((name) => name.startsWith("type "));
  expect(names.length - types.length).toBe(Object.keys(root).length);
  expect(names.length - types.length).toBeLessThanOrEqual(45);
  expect(types.length).toBeLessThanOrEqual(60);
});

test("importing the package loads no backend: a URL or a subpath does", async () => {
  const loaded = await staticClosure("src/index.ts");
  expect(loaded.length).toBeGreaterThan(100);
  const rest = loaded.filter((path) => path.startsWith("src/backends/") && path.split("/").length > 3);
  expect(rest).toEqual([]);
});

/** Each is the first of what comes with a first use: a run, a saver's call, an erasure, a sealed record and so on. */
const COME_WITH_USE = [
  "agent/run/loop.ts",
  "agent/saving/thread-session.ts",
  "saver/thread/graph-threads.ts",
  "session/erasure-run.ts",
  "sealing/sealed-record.ts",
  "sealing/sealed-item.ts",
  "checkpoint/history/editing.ts",
  "checkpoint/history/retention.ts",
  "checkpoint/history/branching.ts",
  "state/people/erasing.ts",
  "store/searching.ts",
  "conversation/plan-compaction.ts",
  "memory/admission.ts",
  "memory/plain-statements.ts",
  "providers/ai-sdk/from-stream.ts",
];

test("importing the package loads what makes and checks things, and not what a first use needs", async () => {
  const loaded = await staticClosure("src/index.ts");
  const names = COME_WITH_USE.map((path) => `src/${path}`);
  expect(names.filter((path) => loaded.includes(path))).toEqual([]);
  for (const path of names) expect(await readFile(new URL(`../${path}`, import.meta.url), "utf8")).not.toBe("");
});

test("importing the package loads no module of Node that takes long and is needed later", async () => {
  const loaded = await staticClosure("src/index.ts");
  const slow =
    /^import (?!type\b)[^;]*"node:(?:crypto|fs|util|zlib|worker_threads|perf_hooks|http|https|child_process)";$/m;
  const found: string[] = [];
  for (const path of loaded) {
    if (slow.test(await readFile(new URL(`../${path}`, import.meta.url), "utf8"))) found.push(path);
  }
  expect(found).toEqual([]);
});

test("that would be found: the walk goes through imports and stops at those that wait", async () => {
  expect(await staticClosure("src/backends/sqlite/checkpointer.ts")).toContain("src/backends/sqlite/write-rows.ts");
  const openers = await staticClosure("src/backends/open.ts");
  expect(openers).toContain("src/backends/registry.ts");
  expect(openers).not.toContain("src/backends/sqlite/checkpointer.ts");
});
