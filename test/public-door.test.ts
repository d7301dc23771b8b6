import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { BACKENDS } from "../src/backends/registry.ts";
import { contextOf } from "../src/checkpoint/context.ts";
import { DeferredLog } from "../src/checkpoint/log/deferred-log.ts";
import type { ThreadLog } from "../src/checkpoint/log/thread-log.ts";
import * as root from "../src/index.ts";
import { DeferredStoreDriver } from "../src/store/deferred-driver.ts";
import { accessOf } from "../src/store/store-access.ts";
import type { StoreDriver } from "../src/store/store-driver.ts";
import { staticClosure } from "./static-closure.ts";

const SRC = fileURLToPath(new URL("../src/", import.meta.url));
const NAMES = Object.keys(BACKENDS);
const OPTIONAL = ["connect", "search", "catchUp", "queryMetadata", "subscribe", "now", "declined"] as const;

const offered = (log: ThreadLog): readonly string[] => OPTIONAL.filter((name) => log[name] !== undefined);

describe.each(NAMES)("%s", (name) => {
  const entry = BACKENDS[name];
  if (entry === undefined) throw new Error(`no entry for ${name}`);

  test("what is said of its driver before that is loaded is what the driver says", async () => {
    const checkpointer = (await entry.load()).openUrl(entry.example);
    const log = contextOf(checkpointer)?.log;
    if (!(log instanceof DeferredLog)) throw new Error("its driver is not deferred");
    const before = { name: log.name, capabilities: log.capabilities, offers: offered(log) };
    const driver: ThreadLog = await log.driver();
    expect({ name: driver.name, capabilities: driver.capabilities, offers: offered(driver) }).toEqual(before);
    await checkpointer.close();
  });

  test.runIf(entry.store)(
    "what is said of its store's driver before that is loaded is what the driver says",
    async () => {
      const store = (await entry.store?.load())?.openStoreUrl(entry.example);
      const driver = store && accessOf(store)?.driver;
      if (!(driver instanceof DeferredStoreDriver)) throw new Error("its driver is not deferred");
      const { name: called, capabilities, connect } = driver;
      const loaded: StoreDriver = await driver.driver();
      expect(loaded).toMatchObject({ name: called, capabilities });
      expect(loaded.connect === undefined).toBe(connect === undefined);
      for (const operation of ["searchText", "searchVector", "readVector", "dimension"] as const) {
        expect(loaded[operation], operation).toBeTypeOf("function");
      }
      await store?.close();
    },
  );

  test("its names are at the root, and are the same as in its subpath", async () => {
    const subpath = (await import(`../src/backends/${name}/index.ts`)) as Record<string, unknown>;
    const atRoot: Record<string, unknown> = { ...root };
    expect(entry.names.values.length).toBeGreaterThan(0);
    for (const value of [...entry.names.values, ...(entry.store?.names.values ?? [])]) {
      expect(atRoot[value], value).toBeDefined();
      expect(subpath[value], value).toBe(atRoot[value]);
    }
  });

  test("its subpath shows no driver and nothing that only this package calls", async () => {
    const subpath = (await import(`../src/backends/${name}/index.ts`)) as Record<string, unknown>;
    expect(
      Object.keys(subpath).filter((key) => /Log$|[lL]ogOptions$|Driver|^open(Store)?Url$|OfUrl$|FACTS$/.test(key)),
    ).toEqual([]);
  });

  test("outside of its folder, one list names it, and what is written from that list", async () => {
    const naming = (await filesNaming(name, [...entry.names.values, ...(entry.store?.names.values ?? [])])).filter(
      (path) => !EXAMPLES.includes(path),
    );
    const hints = entry.hints === undefined ? [] : ["checkpoint/known-backends.ts"];
    expect(naming).toEqual(["backends/factories.ts", "backends/registry.ts", ...hints]);
  });
});

/** Messages and comments that show a factory as an example. */
const EXAMPLES = ["checkpoint/assert-checkpointer.ts", "checkpoint/log/assert-thread-log.ts"];

async function filesNaming(folder: string, values: readonly string[]): Promise<readonly string[]> {
  const entries = await readdir(SRC, { recursive: true, withFileTypes: true });
  const byName = new RegExp(`backends/${folder}/|\\b(?:${values.join("|")})\\b`);
  const beside = new RegExp(`"\\./${folder}/`);
  const found: string[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const place = relative(SRC, path).replaceAll("\\", "/");
    if (!entry.isFile() || !place.endsWith(".ts") || /\.test(-d)?\.ts$/.test(place)) continue;
    if (place.startsWith(`backends/${folder}/`)) continue;
    const text = await readFile(path, "utf8");
    if (byName.test(text) || (place.startsWith("backends/") && beside.test(text))) found.push(place);
  }
  return found.sort();
}

test("importing the package loads the doors of the backends, and no driver", async () => {
  const loaded = await staticClosure("src/index.ts");
  expect(loaded.length).toBeGreaterThan(100);
  expect(loaded.filter((path) => /^src\/backends\/\w+\/(log|store-driver)\.ts$/.test(path))).toEqual([]);
  const doors = loaded.filter((path) => /^src\/backends\/\w+\/checkpointer\.ts$/.test(path));
  expect(doors).toHaveLength(NAMES.length);
  const stores = loaded.filter((path) => /^src\/backends\/\w+\/store\.ts$/.test(path));
  expect(stores).toHaveLength(Object.values(BACKENDS).filter(({ store }) => store !== undefined).length);
});

/** Each is the first of what comes with a first use: a run, a saver's call, an erasure, a sealed record and so on. */
const COME_WITH_USE = [
  "agent/loop.ts",
  "agent/thread-session.ts",
  "saver/thread/graph-threads.ts",
  "session/erasure-run.ts",
  "sealing/sealed-record.ts",
  "sealing/sealed-item.ts",
  "checkpoint/history/editing.ts",
  "checkpoint/history/retention.ts",
  "checkpoint/history/branching.ts",
  "checkpoint/dict/documents.ts",
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
  expect(await staticClosure("src/backends/sqlite/log.ts")).toContain("src/backends/sqlite/statements.ts");
  const door = await staticClosure("src/backends/sqlite/checkpointer.ts");
  expect(door).toContain("src/checkpoint/thread/saving.ts");
  expect(door).not.toContain("src/backends/sqlite/log.ts");
});
