import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileCheckpointer, fileStore } from "../../src/backends/file/index.ts";
import { HTTPCheckpointer, HTTPStore } from "../../src/backends/http/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { MemoryStoreDriver } from "../../src/backends/memory/store-driver.ts";
import { sqliteCheckpointer, sqliteStore } from "../../src/backends/sqlite/index.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { StorageBackendAdapter } from "../../src/checkpoint/dict/adapter.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { createToken, serve } from "../../src/entry/server.ts";
import { Store } from "../../src/store/store.ts";
import { SCOPES } from "../../src/wire/protocol.ts";
import { RewindableStoreDriver } from "../broken/stores/rewindable-driver.ts";
import { MapStorage } from "../dict-storages.ts";
import { copyDatabase } from "../sqlite/copy-database.ts";
import { SCENARIOS } from "./scenarios.ts";
import { copiedBy, playAll } from "./world.ts";

const emptyFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "holdfast-back-"));
const removal = (folder: string) => () => rm(folder, { recursive: true });

/** By names alone, so that a reader meets the one folder or the other. */
async function copyFolder(folder: string): Promise<() => Promise<void>> {
  await cp(folder, `${folder}-copy`, { recursive: true, preserveTimestamps: true });
  return async () => {
    await rename(folder, `${folder}-lost`);
    await rename(`${folder}-copy`, folder);
  };
}

/** The threads of a log in memory, put back by the log itself under the generations that they had. */
async function copyMemory(log: ThreadLog): Promise<() => Promise<void>> {
  const threads = async (): Promise<readonly string[]> => {
    const { items } = await log.listThreads({ prefix: "", limit: 10_000 });
    return items.flatMap(({ threadId }) => (threadId === undefined ? [] : [threadId]));
  };
  const aside = new Map<string, string>();
  for (const threadId of await threads()) {
    const { generation = "" } = (await log.tail(threadId)) ?? {};
    await log.copy(threadId, `aside ${threadId}`, generation);
    aside.set(threadId, generation);
  }
  return async () => {
    for (const threadId of await threads()) if (!threadId.startsWith("aside ")) await log.remove(threadId);
    for (const [threadId, generation] of aside) {
      await log.copy(`aside ${threadId}`, threadId, generation);
      await log.remove(`aside ${threadId}`);
    }
  };
}

playAll("memory", SCENARIOS, () => {
  const log = new MemoryLog();
  const items = new RewindableStoreDriver(() => new MemoryStoreDriver({ now: Date.now }));
  const copy = async () => {
    const restore = [await copyMemory(log), await items.copy()];
    return async () => {
      for (const each of restore) await each();
    };
  };
  return copiedBy(() => ({ checkpointer: new Checkpointer(log), store: new Store(items) }), copy);
});

playAll("dict storage", SCENARIOS, () => {
  const cells = new Map<string, string>();
  const copy = async () => {
    const kept = new Map(cells);
    return async () => {
      cells.clear();
      for (const [key, cell] of kept) cells.set(key, cell);
    };
  };
  return copiedBy(() => ({ checkpointer: new StorageBackendAdapter(new MapStorage(cells)) }), copy);
});

playAll("file", SCENARIOS, async () => {
  const folder = await emptyFolder();
  const directory = join(folder, "threads");
  const open = () => ({ checkpointer: new FileCheckpointer({ directory }), store: fileStore({ directory }) });
  return copiedBy(open, () => copyFolder(directory), removal(folder));
});

playAll("sqlite", SCENARIOS, async () => {
  const folder = await emptyFolder();
  const path = join(folder, "a.db");
  const open = () => ({ checkpointer: sqliteCheckpointer({ path }), store: sqliteStore({ path }) });
  return copiedBy(open, () => copyDatabase(path), removal(folder));
});

playAll("http, in front of sqlite", SCENARIOS, async () => {
  const folder = await emptyFolder();
  const path = join(folder, "a.db");
  const [checkpointer, store] = [sqliteCheckpointer({ path }), sqliteStore({ path })];
  const { token, sha256 } = createToken();
  const auth = { tokens: [{ sha256, scopes: SCOPES }] };
  const service = await serve({ checkpointer, store, auth, port: 0, rateLimit: false, watchPollMs: 20 });
  const options = { baseUrl: service.url, token };
  const open = () => ({ checkpointer: new HTTPCheckpointer(options), store: new HTTPStore(options) });
  return copiedBy(
    open,
    () => copyDatabase(path),
    async () => {
      await service.close();
      await checkpointer.close();
      await store.close();
      await removal(folder)();
    },
  );
});
